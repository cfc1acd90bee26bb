import { FAULT_REASON, guardExchange } from '../../exchange/faults.ts';
import { type AnswerSink, type InternalAnswer, InternalExchange } from '../../exchange/internal-exchange.ts';
import type { FillBlock } from './fill-block.ts';
import { headOf, validatorsOf } from './freshness.ts';
import { GrowingBody } from './growing-body.ts';
import { answersAlso, entryOf, isFor, type ReceivedHead, storingFor } from './new-entry.ts';
import { type CacheLookup, Reader } from './reader.ts';
import { fetchRequest, isPersonal } from './request.ts';
import { type CacheResponse, readResponse, variantOf } from './response.ts';
import { revalidated } from './revalidation.ts';
import type { StoredResponse } from './stored.ts';
import { isAboutRequest, type Storing } from './storing.ts';

/** How long a request waits for a response that another one has requested (ms), and for the main thread. */
const COLLAPSE_MS = 5_000;
const LOOK_UP_MS = 1_000;

/**
 * A request for a whole response, whose answer is stored if that is allowed. Requests for the same key that arrive before the head of the
 * response wait for it, and read the response as it arrives. If it may not be stored, only the first of them gets it.
 */
export class Fill implements AnswerSink {
  readonly key: string;
  private readonly block: FillBlock;
  /** The entry to validate; null if none is stored. */
  private stale: StoredResponse | null;
  private readonly readers = new Set<Reader>();
  /** The exchange for which the response is requested; its client may have left. */
  private leader: CacheLookup;
  private readonly background: boolean;
  private exchange: InternalExchange | null = null;
  private cancelTimer: () => void = () => undefined;
  /** Whether the request is just being sent: what fails at once would fail for all. */
  private starting = false;
  private concluding = false;
  private mode: 'waiting' | 'storing' | 'passing' | 'over' = 'waiting';
  private requestedAt = 0;
  private since = 0;
  private growing: GrowingBody | null = null;
  private received: ReceivedHead | null = null;
  private variant = '';

  constructor(key: string, block: FillBlock, leader: CacheLookup, stale: StoredResponse | null, background: boolean) {
    this.key = key;
    this.block = block;
    this.leader = leader;
    this.stale = stale;
    this.background = background;
    if (!background) this.add(leader, false);
  }

  /** Queries the main thread first if this worker has no entry. */
  start(): void {
    const { store, clock, faults } = this.block.tools;
    store.register(this.key, this);
    if (this.stale !== null || store.has(this.key)) return this.fetch();
    let answered = false;
    const found = (): void => {
      if (answered || this.mode === 'over') return;
      answered = true;
      this.cancelTimer();
      try {
        this.lookedUp();
      } catch (error) {
        faults.note('exchange', error);
        faults.step(() => this.failed(FAULT_REASON));
      }
    };
    this.cancelTimer = clock.after(LOOK_UP_MS, found);
    store.lookUp(this.key, found);
  }

  /** Whether it waits for a response, and this request has more hops than the one that caused it: it may be that one again, in a loop. */
  hasFewerHops({ x }: CacheLookup): boolean {
    return this.mode === 'waiting' && x.hops > this.leader.x.hops;
  }

  /** Whether a request that has found `stale` can wait, or read what has arrived. */
  accepts(stale: StoredResponse | null, wanted: CacheLookup): boolean {
    if (this.background || this.concluding) return false;
    if (this.mode === 'waiting') return this.stale === stale && !this.hasFewerHops(wanted);
    return this.mode === 'storing' && this.received !== null && this.growing?.stored === true && isFor(this.received, this.variant, wanted);
  }

  join(wanted: CacheLookup): void {
    const reader = this.add(wanted, true);
    if (this.received !== null && this.growing !== null) {
      const { answer, response } = this.received;
      if (reader.begin(answer, headOf(answer.fields), response, 'stored')) this.drop(reader);
      else reader.read(this.growing);
      reader.flush();
      return this.continue();
    }
    reader.cancelTimer = this.block.tools.clock.after(COLLAPSE_MS, () => {
      if (this.mode === 'waiting' && this.readers.has(reader)) guardExchange(wanted.x, () => this.release(reader));
    });
  }

  /** The client whose request the response answers; null once it has left. */
  private get requester(): Reader | null {
    for (const reader of this.readers) if (reader.wanted === this.leader) return reader;
    return null;
  }

  private add(wanted: CacheLookup, collapsed: boolean): Reader {
    const reader = new Reader(wanted, collapsed, this);
    this.readers.add(reader);
    wanted.x.attempt = reader;
    return reader;
  }

  private lookedUp(): void {
    // The entry that was found may have to be validated, by one request for all clients.
    this.block.tools.store.unregister(this.key, this);
    this.each((reader) => {
      reader.x.attempt = null;
      if (this.block.serve(reader.wanted)) this.drop(reader);
      else reader.x.attempt = reader;
    });
    const first = this.nextLeader(null);
    if (first === undefined) return this.conclude((reader) => this.release(reader));
    this.block.tools.store.register(this.key, this);
    this.lead(first);
  }

  private fetch(): void {
    const { store, clock } = this.block.tools;
    const entry = this.stale?.entry ?? null;
    const validators = entry === null ? '' : validatorsOf(entry);
    this.requestedAt = clock.now();
    this.since = store.purges.newest;
    const request = fetchRequest(this.leader.x, validators, this.background);
    this.exchange = new InternalExchange(request, this, this.block.upstream, this.block.tools);
    this.starting = true;
    this.exchange.start();
    this.starting = false;
  }

  // Events of the upstream's response.

  /** Before the head has arrived, it is unknown whether other clients may get the response to one client's request. */
  informational(status: number, reason: string, fields: string): void {
    this.requester?.informational(status, reason, fields);
  }

  head(answer: InternalAnswer): void {
    const { exchange, stale } = this;
    for (const reader of this.readers) reader.attempted(exchange, answer.failure);
    if (answer.status >= 500 && stale?.maySubstitute(this.block.tools.clock.now()))
      return this.serveStale(stale, answer.failure === '' ? `; fwd-status=${answer.status}` : '');
    if (answer.failure !== '') return this.fail(answer.status, answer.failure);
    if (answer.status === 304 && stale !== null) return this.validated(stale, answer);
    const response = readResponse(answer.status, answer.fields);
    const storing = exchange?.endsAtClose ? null : storingFor(this.leader, response, this.block);
    const { store } = this.block.tools;
    const body = storing === null ? null : GrowingBody.open(answer.length, store);
    if (storing === null || body === null) return this.pass(answer, response, storing !== null && answer.length <= store.largest);
    this.mode = 'storing';
    this.growing = body;
    const forOthers = { ...answer, affinityLine: '' };
    const { requester } = this;
    this.received = { answer: forOthers, response, storing };
    this.variant = variantOf(this.leader.x.upstreamFields, response.vary);
    this.each((reader) => {
      if (!this.fits(reader, response, storing) || reader.wanted.request.range !== null) this.release(reader);
      else if (reader.begin(reader === requester ? answer : forOthers, headOf(answer.fields), response, 'stored')) this.drop(reader);
    });
  }

  /** Whether the client of this reader gets the response. */
  private fits(reader: Reader, response: CacheResponse, storing: Storing): boolean {
    return reader === this.requester || answersAlso(reader.wanted, this.leader, response, storing, this.block.rules);
  }

  /**
   * The response is not stored: only the client whose request it answers gets it. Unless that says nothing about other requests, as if there
   * is no room for it now, the entry that it was meant to validate is removed, and no other request waits for the next response.
   */
  private pass(answer: InternalAnswer, response: CacheResponse, hasNoRoom: boolean): void {
    const { requester } = this;
    const once = hasNoRoom || this.leader.request.control.has('no-store') || isAboutRequest(answer.status);
    if (!once && answer.status < 500) {
      this.markUncacheable(response);
      if (this.stale !== null) this.forget();
    }
    this.mode = 'passing';
    this.block.tools.store.unregister(this.key, this);
    for (const reader of [...this.readers]) if (reader !== requester) guardExchange(reader.x, () => this.release(reader));
    if (requester === null || requester.wanted.request.range !== null) {
      this.exchange?.cancel();
      if (requester !== null) this.release(requester);
      return this.finish();
    }
    if (requester.begin(answer, headOf(answer.fields), response, '')) this.leave(requester);
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    if (this.mode === 'passing') {
      const [reader] = this.readers;
      return reader === undefined || reader.pass(buffer, from, to);
    }
    const { growing: body } = this;
    if (this.mode !== 'storing' || body === null) return true;
    // It must not give way to itself.
    this.block.tools.store.hold(this, false);
    body.append(buffer, from, to);
    this.each((reader) => reader.read(body));
    return this.mayGoOn(body);
  }

  /** Otherwise clients that don't read would keep any number of large responses in memory. @returns whether one of them keeps up. */
  private mayGoOn(body: GrowingBody): boolean {
    if (!body.stored) return this.trim(body);
    return !this.block.tools.store.hold(this, !body.isRead(this.readers));
  }

  giveWay(): void {
    const { growing: body } = this;
    if (body === null) return;
    body.giveUp();
    this.trim(body);
  }

  /** The response is not stored: the part that every client has read is dropped. @returns whether all of them keep up. */
  private trim(body: GrowingBody): boolean {
    if (this.readers.size === 0) {
      this.exchange?.cancel();
      this.finish();
      return true;
    }
    if (this.block.tools.store.unregister(this.key, this) && body.tooLarge && this.received) this.markUncacheable(this.received.response);
    return body.dropRead(this.readers);
  }

  flush(): void {
    this.each((reader) => reader.flush());
  }

  end(trailers: string): void {
    const { growing: body, received: head, leader, key, block, requestedAt } = this;
    if (this.mode !== 'storing' || body === null || head === null) {
      this.each((reader) => reader.end(trailers));
      return this.finish();
    }
    const entry = body.isStorable ? entryOf(leader, key, block, head, body, requestedAt) : null;
    const stored = entry && block.tools.store.store(entry, this.since, this.stale);
    body.end(trailers);
    this.each((reader) => reader.read(body));
    this.finish();
    if (stored !== null) body.share(stored.body, this.readers);
  }

  private validated(stale: StoredResponse, answer: InternalAnswer): void {
    const { leader, key, block, requestedAt } = this;
    const newer = revalidated(stale.entry, answer, { leader, key, block, requestedAt });
    if (newer === null) {
      this.stale = null;
      this.exchange?.cancel();
      return this.fetch();
    }
    const { entry, response, storing } = newer;
    const { clock, store } = block.tools;
    const stored = storing ? store.store(entry, this.since, stale) : store.responseOf(entry);
    if (storing === null) this.forget();
    this.conclude((reader) => {
      // What must not be stored, for instance because it sets a cookie, is about the client whose request was validated.
      if (storing === null ? reader !== this.requester : !this.fits(reader, response, storing)) return this.release(reader);
      reader.serve(stored, 'revalidated', '; fwd=stale; fwd-status=304', clock.now());
    }, false);
  }

  private serveStale(stale: StoredResponse, status: string): void {
    this.conclude((reader) => {
      reader.x.lastFailure = null;
      reader.serve(stale, 'stale', `; hit; fwd=stale${status}; detail=stale-if-error`, this.block.tools.clock.now());
    });
  }

  failed(reason: string): void {
    if (this.mode !== 'waiting') return this.conclude((reader) => reader.abort(reason));
    if (this.stale?.maySubstitute(this.block.tools.clock.now())) return this.serveStale(this.stale, '');
    this.fail(502, reason);
  }

  /** The clients' requests start over on the newest table, with all of its policies. */
  moved(): void {
    this.conclude((reader) => reader.serveAgain());
  }

  /** No upstream answered. That may be because of this one request, so another one that waits is tried next. */
  private fail(status: number, reason: string): void {
    const { requester } = this;
    if (this.exchange === null || this.starting) return this.conclude((reader) => reader.fail(status, reason));
    const next = this.nextLeader(requester);
    // Those that want no whole response can't request it for others.
    if (next === undefined) return this.conclude((reader) => (reader === requester ? reader.fail(status, reason) : this.release(reader)));
    if (requester !== null) guardExchange(requester.x, () => requester.fail(status, reason));
    this.exchange?.cancel();
    guardExchange(next.x, () => this.lead(next));
  }

  private nextLeader(before: Reader | null): Reader | undefined {
    for (const reader of this.readers) if (reader !== before && reader.wanted.fetches) return reader;
    return undefined;
  }

  /** Requests the response on behalf of this reader's client, which then waits for nothing else. */
  private lead(reader: Reader): void {
    reader.cancelTimer();
    this.leader = reader.wanted;
    this.fetch();
  }

  // Events of the clients' requests.

  /** A client has left. */
  leave(reader: Reader): void {
    this.drop(reader);
    // It may have been the one that the others wait for.
    if (this.readers.size > 0) return this.continue();
    if (this.background || this.mode === 'over') return;
    this.exchange?.cancel();
    this.finish();
  }

  /** The client of this reader can accept more. */
  resume(reader: Reader): void {
    if (this.growing !== null) reader.read(this.growing);
    this.growing?.progress();
    this.continue();
  }

  /** Receives more of the response if its clients keep up. */
  private continue(): void {
    const { mode, growing: body } = this;
    if (mode === 'passing' || (mode === 'storing' && body !== null && this.mayGoOn(body))) this.exchange?.resume();
  }

  /** It has received the whole response. */
  drop(reader: Reader): void {
    reader.cancelTimer();
    this.readers.delete(reader);
    if (reader.x.attempt === reader) reader.x.attempt = null;
    this.growing?.progress();
  }

  /** The request goes to the upstream on its own. */
  private release(reader: Reader): void {
    this.drop(reader);
    reader.forward(this.block.upstream);
  }

  private markUncacheable({ vary }: CacheResponse): void {
    const { x, request } = this.leader;
    const { store, clock } = this.block.tools;
    store.markUncacheable(this.key, isPersonal(request), clock.now(), x.upstreamFields, vary);
  }

  /** The stored response is no longer what the upstream would send, as far as its response to this client says something about others. */
  private forget(): void {
    const { x, request } = this.leader;
    if (!isPersonal(request)) this.block.tools.store.invalidate(x.host, [x.target], [this.key]);
  }

  /** Calls `act` for each client. An exception ends only that client's exchange. Clients that have been answered are removed. */
  private each(act: (reader: Reader) => void): void {
    for (const reader of [...this.readers]) {
      guardExchange(reader.x, () => act(reader));
      if (reader.over || reader.x.attempt !== reader) this.drop(reader);
    }
  }

  /**
   * Answers all clients. This fill ends first, because a client's next request, or the same one again, may arrive at once and must not wait for
   * it. `cancels`: more of the upstream's response may follow, which nobody needs.
   */
  private conclude(act: (reader: Reader) => void, cancels = true): void {
    this.concluding = true;
    // The clients are answered even if this fails. The removal is tried again, so that no request joins a fill that has ended.
    this.block.tools.faults.step(() => this.finish());
    this.each(act);
    if (cancels) this.exchange?.cancel();
    this.finish();
  }

  private finish(): void {
    if (this.mode === 'over') return;
    this.mode = 'over';
    this.cancelTimer();
    this.block.tools.store.unregister(this.key, this);
    this.block.tools.store.hold(this, false);
    if (this.growing !== null && !this.growing.complete) this.growing.free();
  }
}
