"""Analysis of records: verification, documents, transcripts, luck and grades. It imports neither arena/store nor a
server.

- verify.py replays a record and compares it with its footer and with the stored result.
- transcript.py describes the lines of a record in words. ply_rows.py makes the rows of exported plies.
  match_document.py makes one document of a record, with the state after each event. seat_view.py restricts states and
  lines to what one seat may see.
- The command `arena export` is not here: arena/commands/export.py writes the tables of arena/store/export_rows.py.
- grading.py grades or estimates moves, and adds up what a bot's moves cost. luck_report.py reports the luck in a match.
"""
