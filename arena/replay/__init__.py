"""Analysis of records: verification, documents and transcripts, luck and grades of moves."""
