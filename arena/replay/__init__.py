"""Analysis of records: verification, documents, transcripts, luck and grades. It imports no store and no server.

- verify.py plays a record again and compares it with its footer and with the stored result.
- transcript.py tells a record in words. ply_rows.py makes it rows of a table. match_document.py makes it one
  document with the states between events, seat_view.py what a seat saw of it.
- grading.py grades or estimates moves and sums up what they cost a bot. luck_report.py says what luck gave.
"""
