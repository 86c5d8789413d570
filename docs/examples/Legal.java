// Plays any game by a random legal move. There is no JSON here: a turn begins with the list of its legal moves, and a
// move has no map in it, so that it ends at the first brace that closes.
//
//   javac -d classes docs/examples/Legal.java
//   arena-bot pipe --game nim --name legal-java -- java -cp classes Legal
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

public class Legal {
    static final String TURN = "{\"type\":\"turn\",\"legal\":[";

    public static void main(String[] args) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Random random = new Random();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.startsWith(TURN)) {
                List<String> legal = movesAt(line, TURN.length());
                System.out.println(legal.get(random.nextInt(legal.size())));
                System.out.flush();
            }
        }
    }

    static List<String> movesAt(String line, int start) {
        List<String> moves = new ArrayList<>();
        while (line.charAt(start) == '{') {
            int end = line.indexOf('}', start) + 1;
            moves.add(line.substring(start, end));
            start = line.charAt(end) == ',' ? end + 1 : end;
        }
        return moves;
    }
}
