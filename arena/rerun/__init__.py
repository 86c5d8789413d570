"""A recorded match played again with another bot in a seat: where it does otherwise, and what that was worth."""
