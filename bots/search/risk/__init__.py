"""The Risk games on flat integer arrays: sums.py keeps what an evaluation needs, work.py what a search counts; duel.py
searches bounded Risk, campaign.py draft-and-attack Risk.
"""
