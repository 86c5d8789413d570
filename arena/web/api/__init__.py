"""What the pages show, as JSON: `/api/v1`. One table of operations says what there is, how it is asked and answered."""
