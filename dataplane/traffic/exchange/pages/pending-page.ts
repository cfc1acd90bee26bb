import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Attempt } from '../attempt.ts';
import { detachAttempt, type Exchange } from '../exchange.ts';
import { guardExchange } from '../faults.ts';
import type { BodyStage } from '../filter.ts';
import type { ErrorPage, PageSearch } from './error-pages.ts';

/** An error of the proxy itself whose page is being read from a file. The rest of the request's body is dropped. */
export class PendingPage implements Attempt {
  private readonly stop: () => void;

  constructor(x: Exchange, search: PageSearch, send: (page: ErrorPage | null) => void) {
    x.attempt = this;
    this.stop = search(
      (page) =>
        guardExchange(x, () => {
          x.attempt = null;
          send(page);
        }),
      (error) => x.client.onFault(error),
    );
  }

  body(): boolean {
    return true;
  }

  bodyEnd(): void {
    // Nothing waits for it.
  }

  resume(): void {
    // Nothing has been sent yet.
  }

  cancel(): void {
    this.stop();
  }
}

/** Bytes of a replaced body that are read to keep the upstream's connection. */
const MAX_DISCARDED = 65_536;
/** How long to wait for its end (ms). */
const MAX_WAIT_MS = 100;

/**
 * An upstream's error that a page replaces. The page is sent once the replaced body has ended. If that takes too long or the body is too
 * large, the upstream is cancelled. The client's response is complete in any case, on every protocol.
 */
export class PendingReplacement implements BodyStage {
  private readonly x: Exchange;
  private readonly send: (page: ErrorPage | null) => void;
  private readonly stop: () => void;
  /** undefined until it has been looked up. */
  private page: ErrorPage | null | undefined;
  private discarded = 0;
  private ended = false;
  private over = false;
  private stopWaiting: () => void = () => undefined;

  constructor(x: Exchange, search: PageSearch, clock: Clock, send: (page: ErrorPage | null) => void) {
    this.x = x;
    this.send = send;
    x.filtering = this;
    this.stop = search(
      (page) =>
        guardExchange(x, () => {
          this.page = page;
          if (this.ended || this.discarded > MAX_DISCARDED) return this.finish();
          this.stopWaiting = clock.after(MAX_WAIT_MS, () => guardExchange(x, () => this.finish()));
        }),
      (error) => x.client.onFault(error),
    );
  }

  body(_: Buffer, from: number, to: number): boolean {
    const before = this.discarded;
    this.discarded += to - from;
    if (this.discarded <= MAX_DISCARDED) return true;
    // The upstream is not cancelled while it is being read from.
    if (before <= MAX_DISCARDED && this.page !== undefined) setImmediate(() => guardExchange(this.x, () => this.finish()));
    return false;
  }

  flush(): void {
    // Nothing of the replaced body is sent.
  }

  end(): void {
    this.ended = true;
    if (this.page !== undefined) this.finish();
  }

  /** The page is complete although the body that it replaces is not. */
  abort(): void {
    this.end();
  }

  resume(): void {
    // Nothing has been sent yet.
  }

  cancel(): void {
    this.over = true;
    this.stopWaiting();
    this.stop();
  }

  private finish(): void {
    const { page, x } = this;
    if (this.over || page === undefined) return;
    this.over = true;
    this.stopWaiting();
    detachAttempt(x)();
    this.send(page);
  }
}
