"""The operator's pages, `/admin`: who may see them, what they show, and what is asked of the server by their forms."""
