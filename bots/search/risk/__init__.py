"""The Risk games on flat integer arrays: sums.py keeps what an evaluation needs, duel.py searches bounded Risk."""
