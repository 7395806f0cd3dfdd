// Puts the page into the document.
import { render } from "preact";
import { engineOf, readStart } from "../engine";
import { App } from "./App";
import { listenToKeys } from "./keys";
import { Session } from "./session";
import { SessionContext } from "./state";

export function start(): void {
  const root = document.getElementById("oneread");
  if (!root) throw new Error("the document has no element oneread");
  const session = new Session(engineOf(readStart()));
  session.prepare();
  // What is asked for is on its way while the page is drawn, which is a task of its own for that.
  void session.start();
  setTimeout(() => {
    root.replaceChildren();
    render(
      <SessionContext.Provider value={session}>
        <App />
      </SessionContext.Provider>,
      root,
    );
    listenToKeys(session);
  });
}
