/* Plays any game by a random legal move. There is no JSON here: a turn begins with the list of its legal moves, and a
   move has no map in it, so that it ends at the first brace that closes.

     cc -o legal docs/examples/legal.c
     arena-bot pipe --game nim -- ./legal */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char turn[] = "{\"type\":\"turn\",\"legal\":[";

int main(void) {
    char *line = NULL;
    size_t size = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a line leaves when it ends, not when a buffer is full */
    srand((unsigned)time(NULL));
    while (getline(&line, &size, stdin) > 0) {
        if (strncmp(line, turn, strlen(turn)) != 0)
            continue;
        const char *chosen = NULL, *move = line + strlen(turn);
        int length = 0, seen = 0;
        while (*move == '{') {
            int bytes = (int)strcspn(move, "}") + 1;
            if (rand() % ++seen == 0) { /* the nth replaces the one before in one case of n: all are equally likely */
                chosen = move;
                length = bytes;
            }
            move += bytes;
            move += *move == ',';
        }
        printf("%.*s\n", length, chosen);
    }
    free(line);
    return 0;
}
