import type { Exchange } from './exchange.ts';

/** What answers the requests of a block once all of its policies have let them pass: its upstream, a fixed answer … */
export interface Responder {
  respond(x: Exchange): void;
  /** What it would do now (`now` in ms since 1970), without doing any of it. `answeredBy` names one that answers without an upstream. */
  explain(now: number): { readonly answeredBy: string | null; readonly words: string };
}
