"""A seat for language models: tools of the Model Context Protocol that seek, show and play matches."""
