"""The arena in a browser: pages and a JSON API over the store. A browser asks the arena itself for what is live.

It never imports the server: pages are Jinja2 over the store's answers, scripts are static ES modules.

- app.py is the ASGI application and decides what a browser may load. `pages` has a function for each page, `api`
  the JSON API, `docs` the documents, `admin` the operator's pages, which admin_config.py describes to the process.
- site.py is one arena as its pages know it, node_urls.py says where its nodes are. process.py is the process beside
  a server (process_messages.py), http_connections.py limits its visitors. answers.py answers in turn and long
  answers in pieces; turns.py says whose turn it is, serving.py what is held for all.
- grading.py asks the process of grader.py where a map may have to be solved; kept_grades.py keeps its answers.
- titles.py has the titles of games and presets, strengths.py says in a word how strong bots are. rendering.py,
  formatting.py, charts.py, lookups.py and errors.py make pages of values.
- offline.py makes a match one file, into which bundle.py puts the modules. client_wheel.py makes a wheel of the
  modules that `bots.client.run` imports.

The scripts in `static`:

- `board` draws the games, their players and ends, and takes a person's move. It has one module a game, which knows
  no network and is loaded by pages that show the game. match.css is the layout of a match's page, world-map.js has
  the coasts. rounds.js reads rounds and hands out of events, history.js draws them, choices.js makes buttons with
  keys.
- `viewer` shows a match ply by ply: stored, live or in a file of its own, and as a seat saw it where something is
  hidden (views.js).
- `check` referees a match again, `play` lets a person play, `tutorial` teaches a game in five moves.
- `pages` has what each other page does.
- Shared modules: arena-socket.js is the protocol, identity.js has names and tokens, dom.js makes elements without
  HTML, format.js writes numbers, values and times, tab-list.js and clipboard.js do what several pages need.
"""
