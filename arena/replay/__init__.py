"""Analysis of records: verification, documents, transcripts, luck and grades. It imports no store and no server."""
