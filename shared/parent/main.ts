import { runParent } from './run-parent.ts';

/** The parent of `dataplane`: `main.ts LAUNCHER dataplane [FLAGS]`. */
runParent(null);
