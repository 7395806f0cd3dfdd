// Starts the page: reads what the document brings along, and draws.
import "../style/index.css";
import { start } from "./view/start";

start();
