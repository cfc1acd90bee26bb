import type { SiteIssuance } from '../../shared/certificates/issuer.ts';
import type { RouteSpec } from '../../shared/route.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Globals } from '../../shared/settings.ts';
import type { Applied, CertificateOutcome, Problem, RefusedFrame, RouteCondition } from '../../shared/wire/apply.ts';
import type { Publisher } from '../publish/publisher.ts';
import { ClaimTable } from './claims/claim-table.ts';
import { type Claims, claimOf, NO_CLAIMS } from './claims/claims.ts';
import { deltaOf } from './claims/delta.ts';
import { type Judgement, judge, refusal, repeats, unchanged } from './claims/judge.ts';
import { LazyOwnedRoute } from './claims/lazy-owned-route.ts';
import { Confirmations } from './controllers/confirmations.ts';
import { type ControllerRecord, lastFrame, recordAfter, rewrittenController, unsettled } from './controllers/controllers.ts';
import { forSuccessor, isNeeded } from './controllers/for-successor.ts';
import { type RefusedRoute, ReportedConditions } from './controllers/reported-conditions.ts';
import { ReportedProblems } from './controllers/reported-problems.ts';
import { Lending } from './disk/lending.ts';
import { everything, type Restored } from './disk/restore.ts';
import type { SavedWatch } from './disk/saved-watch.ts';
import type { Save, Store } from './disk/store.ts';
import { Mutex } from './mutex.ts';
import { RoutePublication } from './route-publication.ts';
import { type CertificateKeeper, type Frame, type KnownController, type OwnedRoute, type TableChange, UnsavedError } from './table.ts';
import { confirm, type UnconfirmedSource } from './unconfirmed/unconfirmed.ts';

/** Why a process that is ending or being replaced saves nothing. */
const LEAVING = 'this process is shutting down; send the request to its successor';

/** `lastApplied`: when a frame of it was last applied, in ms since 1970. */
type ControllerLoad = { readonly id: string; readonly connected: boolean; readonly routes: number; readonly lastApplied: number };

type LiveTableOptions = {
  readonly restored: Restored;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  /** Absent if frames carry only routes. */
  readonly certificates?: CertificateKeeper;
};

/** One change of the table. */
type TableUpdate = {
  readonly claims: ReadonlyMap<string, Claims>;
  readonly controllers?: readonly ControllerRecord[];
  readonly globals?: Globals;
  readonly overwritten?: TableChange['overwritten'];
};

/**
 * A change that is saved and published. `acknowledged` resolves with its generation once every worker serves it; the next change does not
 * wait for that.
 */
type Committed = { readonly acknowledged: Promise<number> };

type CommittedFrame = Committed & { readonly judgement: Judgement; readonly certificates: readonly CertificateOutcome[] };

/**
 * Owns the routes of a running data plane: one visible route per domain. A change is judged, saved and served before it is acknowledged;
 * then listeners are called.
 */
export class LiveTable {
  /** Identifies this process; a different instance needs a full frame. */
  readonly instance: string;
  /** When this process began to own the table (ms since 1970). */
  readonly ownedSince: number;
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly claims: ClaimTable;
  private readonly known: Map<string, ControllerRecord>;
  private readonly confirmations: Confirmations;
  private readonly reported = new ReportedProblems();
  private readonly conditions = new ReportedConditions();
  private readonly certificates: CertificateKeeper | null;
  private readonly publication: RoutePublication;
  private readonly listeners = new Set<(change: TableChange) => void>();
  private readonly writer = new Mutex();
  private readonly lending: Lending;
  readonly saved: SavedWatch;
  private fileGlobals: Globals;
  private closed = false;

  constructor({ restored, publisher, clock, random, certificates }: LiveTableOptions) {
    this.instance = random.hex(8);
    this.store = restored.store;
    this.clock = clock;
    this.ownedSince = clock.now();
    this.claims = new ClaimTable(restored.claims);
    this.known = restored.controllers;
    this.confirmations = new Confirmations(restored.boot, clock);
    this.certificates = certificates ?? null;
    this.publication = new RoutePublication(publisher);
    this.lending = new Lending(this.store, this.writer);
    this.saved = restored.watch;
    this.fileGlobals = restored.globals;
  }

  /** Visible routes, sorted by domain. */
  list(): readonly OwnedRoute[] {
    return this.claims.list();
  }

  /** The controllers' routes that posted ones override; null for each other route. */
  overrides(): Iterable<{ readonly domain: string; readonly controller: string; readonly since: number } | null> {
    return this.claims.overrides();
  }

  find(domain: string): OwnedRoute | undefined {
    return this.claims.find(domain);
  }

  /** How every site gets HTTPS; fast, even for many sites. */
  sites(): Iterable<SiteIssuance> {
    return this.claims.sites();
  }

  site(domain: string): SiteIssuance | null {
    return this.claims.site(domain);
  }

  counts(): { routes: number; overridden: number } {
    return this.claims.counts();
  }

  /** Number of visible routes with restored targets that their controller has not confirmed yet. */
  get unconfirmedRoutes(): number {
    return this.claims.unconfirmedRoutes;
  }

  unconfirmedSources(): readonly UnconfirmedSource[] {
    return this.claims.unconfirmedSources();
  }

  controllers(): readonly KnownController[] {
    return [...this.known.values()].map((known) => ({ ...known, listed: this.confirmations.listedBy(known.id) }));
  }

  /** Every known controller with the number of its visible routes. */
  controllerLoads(isConnected: (controller: string) => boolean): ControllerLoad[] {
    const routes = this.claims.routesByController();
    return this.controllers().map(({ id, lastApplied }) => ({ id, connected: isConnected(id), routes: routes.get(id) ?? 0, lastApplied }));
  }

  /** The problems that controllers reported, from all sources. */
  problems(): readonly Problem[] {
    return this.reported.list();
  }

  /** The conditions that a controller reported about its route to this domain; undefined if there are none. */
  reportedConditions(controller: string, domain: string): Pick<RouteCondition, 'accepted' | 'resolved'> | undefined {
    return this.conditions.of(controller, domain);
  }

  /** Why a controller's newest version of this route is not served; undefined if it is. */
  refusalOf(controller: string, domain: string): RefusedRoute | undefined {
    return this.conditions.refusal(controller, domain);
  }

  /** The routes whose newest version is not served, of all controllers. */
  refusedRoutes(): Iterable<RefusedRoute> {
    return this.conditions.refusals();
  }

  /** The config file's globals as last applied; empty if no file was applied. */
  globals(): Globals {
    return this.fileGlobals;
  }

  /** Calls back after each change is served. @returns a function that unsubscribes. */
  onChange(listener: (change: TableChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Adds or replaces a route manually. Resolves when it is on disk and every worker serves it.
   * @throws UnsavedError (nothing changed) or UnacknowledgedError (saved, not yet served everywhere).
   */
  async post(route: RouteSpec): Promise<OwnedRoute> {
    const { claims, acknowledged } = await this.writer.run(async () => {
      const { domain } = route;
      const current = this.claims.get(domain);
      const owner = rewrittenController(route.source, current.applied?.controller ?? null, this.known);
      const now = this.clock.now();
      // A post with a controller's tag replaces the controller's route, and the controller can replace it in turn.
      const claims: Claims =
        owner === undefined ? { ...current, hand: claimOf(route, null, now) } : { hand: null, applied: claimOf(route, owner.id, now) };
      return { claims, ...(await this.commitManual(domain, claims, 'replaced', owner?.id ?? null, route)) };
    });
    await acknowledged;
    return new LazyOwnedRoute(claims);
  }

  /** Removes the visible route. @returns false if there is none. @throws as `post`. */
  async remove(domain: string): Promise<boolean> {
    const committed = await this.writer.run(async () => {
      const current = this.claims.get(domain);
      if (current.hand !== null) return this.commit({ claims: new Map([[domain, { ...current, hand: null }]]) });
      if (current.applied === null) return null;
      return this.commitManual(domain, NO_CLAIMS, 'removed', current.applied.controller, null);
    });
    await committed?.acknowledged;
    return committed !== null;
  }

  /** Applies a frame in one swap, or not at all. @throws as `post`. */
  async apply(frame: Frame): Promise<{ applied: Applied } | { refused: RefusedFrame }> {
    const { header } = frame;
    const committed = await this.writer.run(() => this.commitFrame(frame));
    if ('refused' in committed) return committed;
    const { results, removed } = committed.judgement;
    const generation = await committed.acknowledged;
    const { certificates } = committed;
    const applied = { instance: this.instance, revision: header.revision, generation, results, removed };
    return { applied: certificates.length === 0 ? applied : { ...applied, certificates } };
  }

  /**
   * Forgets a controller that is gone permanently, with all that it applied: its routes, certificates, problems. The settings of its config
   * file stay. If it connects again, it begins with a full frame. @returns how many routes it removed; null if the controller is unknown.
   * @throws as `post`.
   */
  async forget(controller: string): Promise<number | null> {
    const committed = await this.writer.run(async () => {
      const known = this.known.get(controller);
      if (known === undefined) return null;
      const emptied = await this.commitFrame(lastFrame(known));
      if ('refused' in emptied) throw new UnsavedError(emptied.refused.error);
      await this.store.save({ puts: [], deletes: [], forgotten: [controller] });
      this.known.delete(controller);
      this.confirmations.forget(controller);
      return emptied;
    });
    await committed?.acknowledged;
    return committed === null ? null : committed.judgement.removed.length;
  }

  /** Called when a controller sends anything on its open stream; confirms its last state. */
  noteSignOfLife(controller: string): void {
    if (!this.confirmations.isRenewalDue(controller)) return;
    const renew = async () => {
      const known = this.known.get(controller);
      if (known === undefined || this.closed) return;
      await this.saveControllers([{ ...known, confirmed: this.confirmations.renewed(controller, known.confirmed) }]);
    };
    // A confirmation that cannot be saved now will be due again in a minute.
    this.writer.run(renew).catch(() => undefined);
  }

  /** Uses the targets of this source again although its controller has not confirmed them. @throws as `post`. */
  async trust({ controller, source }: UnconfirmedSource): Promise<void> {
    await this.revise((claims, changes) => confirm(claims, controller, [source], changes));
  }

  /** Changes which targets await their controllers: `revision` adds the claims to `changes`. @throws as `post`. */
  async revise(revision: (claims: ReadonlyMap<string, Claims>, changes: Map<string, Claims>) => Promise<unknown>): Promise<void> {
    const { acknowledged } = await this.writer.run(async () => {
      const claims = new Map<string, Claims>();
      await revision(this.claims.byDomain, claims);
      return this.commit({ claims });
    });
    await acknowledged;
  }

  /** Called from time to time: saves the table again if its file was removed, or if it could not be saved before. */
  async keepSaved(): Promise<void> {
    if (this.closed || this.lending.isLent) return;
    const keep = async () => (this.closed ? undefined : this.saved.check(this.whole));
    // Refused: a successor has the table.
    await this.writer.run(keep).catch(() => undefined);
  }

  private readonly whole = (): Save => everything({ claims: this.claims.byDomain, controllers: this.known, globals: this.fileGlobals });

  /**
   * Gives the saved table to another process. Changes wait until `reclaim`, or fail at `refuse` or `close`. Resolves when none is in
   * progress. `staying`: controllers whose streams stay open. @throws UnsavedError if what it must know, or a removed table, can't be saved.
   */
  release(staying: ReadonlySet<string> = new Set()): Promise<void> {
    return this.lending.lend(async () => {
      await this.saved.check(this.whole);
      if (this.saved.isIncomplete)
        throw new UnsavedError('the saved table was removed, and there is no space or permission to save it again');
      const records = forSuccessor(this.known, this.claims, staying);
      await this.saveControllers(records).catch((error: unknown) => {
        if (records.some((record) => isNeeded(record, this.known.get(record.id)))) throw error;
      });
    });
  }

  reclaim(): void {
    this.writer.accept();
    this.lending.end();
  }

  /** Fails all changes from now on, also those that wait, as long as their callers can be answered. */
  refuse(): void {
    this.writer.refuse(new UnsavedError(LEAVING));
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (this.lending.isLent) this.lending.end();
    else this.store.close();
  }

  private async commitFrame(frame: Frame): Promise<{ refused: RefusedFrame } | CommittedFrame> {
    const { header } = frame;
    const known = this.known.get(header.controller);
    const refused = refusal(header, known, this.clock.now());
    if (refused !== null) return { refused };
    if (repeats(header, known)) return this.commitRepeated(frame);
    const judgement = await judge(frame, this.claims.byDomain, this.clock.now());
    // Certificates come before routes and go after them, so that a redirect to HTTPS always leads to a certificate.
    const stored = (await this.certificates?.store(frame)) ?? [];
    // A delta confirms what it is based on, except the routes that were rejected.
    const rejected = judgement.results.flatMap(({ domain, result }) => (result === 'rejected' ? [domain] : []));
    if (header.based_on !== null)
      await this.confirm(header.controller, this.confirmations.confirmedBy(header), judgement, new Set(rejected));
    const { acknowledged } = await this.commit({
      claims: judgement.changes,
      controllers: [recordAfter(header, known, this.confirmations, this.clock.now())],
      ...(frame.settings && { globals: frame.settings }),
    });
    await this.noteFrame(frame, judgement);
    const removed = (await this.certificates?.remove(frame)) ?? [];
    return { judgement, certificates: [...stored, ...removed], acknowledged };
  }

  /** The frame changes nothing, but confirms the current state. */
  private async commitRepeated(frame: Frame): Promise<CommittedFrame> {
    const judgement = unchanged(frame);
    const { controller, sources } = frame.header;
    await this.confirm(controller, sources, judgement);
    const { changes } = judgement;
    const { acknowledged } = changes.size === 0 ? { acknowledged: this.publication.publish(null) } : await this.commit({ claims: changes });
    await this.noteFrame(frame, null);
    return { judgement, certificates: [], acknowledged };
  }

  private async confirm(
    controller: string,
    sources: readonly string[],
    { changes }: Judgement,
    except: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    if (this.claims.hasAwaiting) await confirm(this.claims.byDomain, controller, sources, changes, except);
  }

  /** `judgement` is null for a frame that was judged before. */
  private async noteFrame(frame: Frame, judgement: Judgement | null): Promise<void> {
    const { controller } = frame.header;
    this.confirmations.noteFrame(frame);
    this.reported.replace(frame);
    if (judgement !== null) this.conditions.noteResults(frame, judgement.results, this.clock.now());
    await this.conditions.replace(frame, judgement?.removed ?? [], (domain) => this.claims.get(domain).applied?.controller === controller);
  }

  /** A change made through the Admin API. If it changes a controller's route, that controller is notified and must send a full frame. */
  private commitManual(
    domain: string,
    claims: Claims,
    change: 'removed' | 'replaced',
    controller: string | null,
    route: RouteSpec | null,
  ): Promise<Committed> {
    const overwritten = controller === null ? [] : [{ domain, controller, change, route }];
    const controllers = overwritten.flatMap((touched) => this.known.get(touched.controller) ?? []).map(unsettled);
    return this.commit({ claims: new Map([[domain, claims]]), overwritten, controllers });
  }

  /** Saves and publishes one change; listeners are called once it is served. @throws UnsavedError. */
  private async commit({ claims, controllers = [], globals, overwritten = [] }: TableUpdate): Promise<Committed> {
    if (this.closed) throw new UnsavedError(LEAVING);
    const delta = await deltaOf(claims, this.claims.byDomain);
    const { puts, deletes } = delta.save;
    // What only changes which targets await their controllers needs no disk, which may be full.
    if (puts.length + deletes.length + controllers.length > 0 || globals)
      await this.store.save({ puts, deletes, controllers, ...(globals && { globals }) });
    const settings = globals !== undefined && JSON.stringify(globals) !== JSON.stringify(this.fileGlobals);
    this.claims.swap(claims, delta);
    for (const controller of controllers) this.known.set(controller.id, controller);
    this.fileGlobals = globals ?? this.fileGlobals;
    const served = this.publication.publish(delta.routes);
    const { generation } = this.publication;
    const { added, changed, removed } = delta;
    const published = delta.routes.upserts.length + delta.routes.removed.length > 0;
    const notify = () => {
      for (const listener of this.listeners) listener({ generation, added, changed, removed, published, overwritten, settings });
    };
    return { acknowledged: served.finally(notify) };
  }

  private async saveControllers(controllers: readonly ControllerRecord[]): Promise<void> {
    if (controllers.length === 0) return;
    await this.store.save({ puts: [], deletes: [], controllers });
    for (const controller of controllers) this.known.set(controller.id, controller);
  }
}
