import type { Exchange } from './exchange.ts';

/** What answers the requests of a block once all of its policies have allowed them: its upstream, a fixed response … */
export interface Responder {
  respond(x: Exchange): void;
  /** Describes what it would do now (`now` in ms since 1970), without doing it. `answeredBy` is set if it answers without an upstream. */
  explain(now: number): { readonly answeredBy: string | null; readonly words: string };
}
