import type { Site } from '../../shared/certificates/issuer.ts';
import type { RouteSpec } from '../../shared/route.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Globals } from '../../shared/settings.ts';
import type { Applied, CertificateOutcome, Problem, Refused } from '../../shared/wire/apply.ts';
import type { PublishedRoute, Publisher, RoutesChange } from '../publish/publisher.ts';
import { type Claim, type Claims, claimOf, isDoubted, isOverridden, NOBODY, siteOf, sitesOf, visible } from './claims/claims.ts';
import { deltaOf } from './claims/delta.ts';
import { type Judgement, judge, refusal, repeats } from './claims/judge.ts';
import { Owned } from './claims/owned.ts';
import { Confirmations } from './controllers/confirmations.ts';
import { type ControllerRecord, rewritten, unsettled, withDoubts } from './controllers/controllers.ts';
import type { Restored } from './disk/restore.ts';
import type { Store } from './disk/store.ts';
import { Mutex } from './mutex.ts';
import {
  type CertificateKeeper,
  type Frame,
  type KnownController,
  type OwnedRoute,
  type Table,
  type TableChange,
  UnsavedError,
} from './table.ts';
import { clear, type Doubt, doubtsIn, served } from './unconfirmed/unconfirmed.ts';

type Parts = {
  readonly restored: Restored;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  /** Absent: frames bring routes only. */
  readonly certificates?: CertificateKeeper;
};

/** Everything that one change of the table does at once. */
type Step = {
  readonly claims: ReadonlyMap<string, Claims>;
  readonly controllers?: readonly ControllerRecord[];
  readonly globals?: Globals;
  readonly byHand?: TableChange['byHand'];
};

/** Saved and published; `acknowledged` is its generation once every worker serves it. Awaited outside of the writer's turn. */
type Taken = { readonly acknowledged: Promise<number> };

type TakenFrame = Taken & { readonly judgement: Judgement; readonly certificates: readonly CertificateOutcome[] };

/** The table of a running data plane: judged, then saved, then served, then told. */
export class LiveTable implements Table {
  readonly instance: string;
  private readonly store: Store;
  private readonly publisher: Publisher;
  private readonly clock: Clock;
  private readonly claims: Map<string, Claims>;
  private readonly known: Map<string, ControllerRecord>;
  private fileGlobals: Globals;
  private readonly reported = new Map<string, readonly Problem[]>();
  private readonly listeners = new Set<(change: TableChange) => void>();
  private readonly writer = new Mutex();
  /** The last publication, while it is not known to be served everywhere. */
  private unserved: Promise<number> | null = null;
  private sorted: readonly OwnedRoute[] | null = null;
  /** Set while another process may have the file. */
  private resume: (() => void) | null = null;
  private closed = false;
  private overridden: number;
  private readonly confirmations: Confirmations;
  private readonly certificates: CertificateKeeper | null;
  private inDoubt: number;

  constructor({ restored, publisher, clock, random, certificates }: Parts) {
    this.instance = random.hex(8);
    this.store = restored.store;
    this.publisher = publisher;
    this.clock = clock;
    this.certificates = certificates ?? null;
    this.claims = restored.claims;
    this.known = restored.controllers;
    this.fileGlobals = restored.globals;
    this.overridden = [...restored.claims.values()].filter(isOverridden).length;
    this.confirmations = new Confirmations(restored.boot, clock);
    this.inDoubt = [...restored.claims.values()].filter(({ applied }) => isDoubted(applied)).length;
  }

  list(): readonly OwnedRoute[] {
    this.sorted ??= [...this.claims.keys()].sort().map((domain) => new Owned(this.claims.get(domain) ?? NOBODY));
    return this.sorted;
  }

  find(domain: string): OwnedRoute | undefined {
    const claims = this.claims.get(domain);
    return claims && new Owned(claims);
  }

  sites(): Iterable<Site> {
    return sitesOf(this.claims);
  }

  site(domain: string): Site | null {
    return siteOf(domain, this.claims.get(domain));
  }

  counts(): { routes: number; overridden: number } {
    return { routes: this.claims.size, overridden: this.overridden };
  }

  controllers(): readonly KnownController[] {
    return [...this.known.values()];
  }

  get doubted(): number {
    if (this.inDoubt === 0) return 0;
    return [...this.claims.values()].filter((claims) => isDoubted(visible(claims))).length;
  }

  doubts(): readonly Doubt[] {
    return this.inDoubt === 0 ? [] : doubtsIn(this.claims);
  }

  heard(controller: string): void {
    if (!this.confirmations.isDue(controller)) return;
    const renew = async () => {
      const known = this.known.get(controller);
      if (known === undefined || this.closed) return;
      const renewed = { ...known, confirmed: this.confirmations.renewed(controller, known.confirmed) };
      await this.store.save({ puts: [], deletes: [], controllers: [renewed] });
      this.known.set(controller, renewed);
    };
    // What can't be written down now is due again in a minute.
    this.writer.run(renew).catch(() => undefined);
  }

  /** Uses the targets of this source again though its controller has not named them. @throws as `post`. */
  async trust({ controller, source }: Doubt): Promise<void> {
    const taken = await this.writer.run(async () => {
      const claims = new Map<string, Claims>();
      await clear(this.claims, controller, [source], claims);
      return this.take({ claims });
    });
    await taken.acknowledged;
  }

  problems(): readonly Problem[] {
    return [...this.reported.values()].flat();
  }

  globals(): Globals {
    return this.fileGlobals;
  }

  onChange(listener: (change: TableChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async post(route: RouteSpec): Promise<OwnedRoute> {
    const { claims, acknowledged } = await this.writer.run(async () => {
      const { domain } = route;
      const current = this.claims.get(domain) ?? NOBODY;
      const owner = rewritten(route.source, current.applied?.controller ?? null, this.known);
      const now = this.clock.now();
      // With a controller's own tag it is the controller's route that is rewritten, and the controller will have its say.
      const claims: Claims =
        owner === undefined ? { ...current, hand: claimOf(route, null, now) } : { hand: null, applied: claimOf(route, owner.id, now) };
      const taken = await this.byHand(domain, claims, 'replaced', owner?.id ?? null, route);
      return { claims, acknowledged: taken.acknowledged };
    });
    await acknowledged;
    return new Owned(claims);
  }

  async remove(domain: string): Promise<boolean> {
    const taken = await this.writer.run(async () => {
      const current = this.claims.get(domain);
      if (current === undefined) return null;
      if (current.hand !== null) return this.take({ claims: new Map([[domain, { ...current, hand: null }]]) });
      return this.byHand(domain, NOBODY, 'removed', current.applied?.controller ?? null, null);
    });
    await taken?.acknowledged;
    return taken !== null;
  }

  async apply(frame: Frame): Promise<{ applied: Applied } | { refused: Refused }> {
    const { header } = frame;
    const taken = await this.writer.run(() => this.takeFrame(frame));
    if ('refused' in taken) return taken;
    const { results, removed } = taken.judgement;
    const generation = await taken.acknowledged;
    const { certificates } = taken;
    const applied = { instance: this.instance, revision: header.revision, generation, results, removed };
    return { applied: certificates.length === 0 ? applied : { ...applied, certificates } };
  }

  private async takeFrame(frame: Frame): Promise<{ refused: Refused } | TakenFrame> {
    const { header } = frame;
    const known = this.known.get(header.controller);
    const refused = refusal(header, known);
    if (refused !== null) return { refused };
    if (repeats(header, known)) return this.repeated(frame);
    const judgement = await judge(frame, this.claims, this.clock.now());
    // Whoever is sent on to HTTPS finds the certificate there, and finds it for as long as they are sent there.
    const brought = (await this.certificates?.bring(frame)) ?? [];
    // What the frame is the difference to holds with it, but for what it could not make clear.
    const rejected = judgement.results.flatMap(({ domain, result }) => (result === 'rejected' ? [domain] : []));
    if (this.inDoubt > 0 && header.based_on !== null)
      await clear(this.claims, header.controller, this.confirmations.standsBy(header), judgement.changes, new Set(rejected));
    const sources = [...new Set([...(known?.sources ?? []), ...header.sources])];
    const controller = {
      id: header.controller,
      epoch: header.epoch,
      revision: header.revision,
      sources,
      settled: true,
      lastApplied: this.clock.now(),
      confirmed: this.confirmations.renewed(header.controller, known?.confirmed ?? {}, header),
      doubted: [],
    };
    const taken = await this.take({
      claims: judgement.changes,
      controllers: [controller],
      ...(frame.settings && { globals: frame.settings }),
    });
    this.confirmations.note(frame);
    this.report(frame);
    const dropped = (await this.certificates?.drop(frame)) ?? [];
    return { judgement, certificates: [...brought, ...dropped], acknowledged: taken.acknowledged };
  }

  /** Nothing is new, but what it says is true today. */
  private async repeated(frame: Frame): Promise<TakenFrame> {
    const judgement = unchanged(frame);
    const { controller, sources } = frame.header;
    if (this.inDoubt > 0) await clear(this.claims, controller, sources, judgement.changes);
    const acknowledged = judgement.changes.size === 0 ? this.serve(null) : (await this.take({ claims: judgement.changes })).acknowledged;
    this.confirmations.note(frame);
    this.report(frame);
    return { judgement, certificates: [], acknowledged };
  }

  /**
   * Another process may have what is saved. Changes wait until `reclaim`, or fail at `close`. Resolves when none is under way.
   * @throws UnsavedError when the other process could not learn what is in doubt.
   */
  release(): Promise<void> {
    return new Promise((released, failed) => {
      const lend = async () => {
        await this.saveDoubts();
        this.store.release();
        released();
        await new Promise<void>((resume) => {
          this.resume = resume;
        });
        this.resume = null;
      };
      this.writer.run(lend).catch(failed);
    });
  }

  private async saveDoubts(): Promise<void> {
    const controllers = withDoubts(this.known, this.doubts());
    if (controllers.length === 0) return;
    await this.store.save({ puts: [], deletes: [], controllers });
    for (const controller of controllers) this.known.set(controller.id, controller);
  }

  reclaim(): void {
    this.resume?.();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (this.resume === null) this.store.close();
    else this.resume();
  }

  /** A change that no controller made: the one whose route it touched, if any, is told, and its revision holds no longer. */
  private async byHand(
    domain: string,
    claims: Claims,
    change: 'removed' | 'replaced',
    controller: string | null,
    route: RouteSpec | null,
  ): Promise<Taken> {
    const byHand = controller === null ? [] : [{ domain, controller, change, route }];
    const controllers = byHand.flatMap((touched) => this.known.get(touched.controller) ?? []).map(unsettled);
    return this.take({ claims: new Map([[domain, claims]]), byHand, controllers });
  }

  /** Saves, keeps and publishes one step; listeners are told once it is served. @throws UnsavedError. */
  private async take(step: Step): Promise<Taken> {
    if (this.closed) throw new UnsavedError('this process is ending; ask the one that takes over');
    const { save, routes, added, changed, removed, overridden, doubted } = await deltaOf(step.claims, this.claims);
    await this.store.save({
      ...save,
      ...(step.controllers && { controllers: step.controllers }),
      ...(step.globals && { globals: step.globals }),
    });
    const settings = step.globals !== undefined && JSON.stringify(step.globals) !== JSON.stringify(this.fileGlobals);
    this.keep(step);
    this.overridden += overridden;
    this.inDoubt += doubted;
    const nothing = routes.upserts.length === 0 && routes.removed.length === 0;
    const served = this.serve(nothing ? null : routes);
    const generation = this.publisher.generation;
    const tell = () => {
      for (const listener of this.listeners) listener({ generation, added, changed, removed, byHand: step.byHand ?? [], settings });
    };
    return { acknowledged: served.finally(tell) };
  }

  /** @returns the generation that holds everything so far, once every worker serves it. @throws UnacknowledgedError. */
  private serve(routes: RoutesChange | null): Promise<number> {
    if (routes === null && this.unserved === null) return Promise.resolve(this.publisher.generation);
    // What is found done already may still be on its way to the workers: one more round tells that it has arrived.
    const served = this.publisher.publish(routes === null ? {} : { routes });
    this.unserved = served;
    served.then(
      () => {
        if (this.unserved === served) this.unserved = null;
      },
      // Whoever waits for it is told; the next change asks again.
      () => undefined,
    );
    return served;
  }

  /** In one turn: nobody sees half of a change. */
  private keep(step: Step): void {
    for (const [domain, claims] of step.claims) {
      if (visible(claims) === null) this.claims.delete(domain);
      else this.claims.set(domain, claims);
    }
    if (step.claims.size > 0) this.sorted = null;
    for (const controller of step.controllers ?? []) this.known.set(controller.id, controller);
    if (step.globals !== undefined) this.fileGlobals = step.globals;
  }

  /** The frame's problems replace what its controller reported about the same sources. */
  private report({ header, problems }: Frame): void {
    const others = (this.reported.get(header.controller) ?? []).filter(({ source }) => !header.sources.includes(source));
    this.reported.set(header.controller, [...others, ...problems]);
  }
}

const unchanged = (frame: Frame): Judgement => ({
  results: frame.routes.map(({ domain }) => ({ domain, result: 'unchanged' as const })),
  removed: [],
  changes: new Map(),
});

/** What workers start with. */
export const initialRoutes = (restored: Restored): RoutesChange => restoredRoutes(restored, served);

/** The same as it was saved, with targets that are in doubt: what is found out about those meanwhile holds once they are confirmed. */
export const savedRoutes = (restored: Restored): RoutesChange =>
  restoredRoutes(restored, (domain, { json, facts }) => ({ domain, json, healthChecks: facts.healthChecks }));

function restoredRoutes({ claims: all }: Restored, published: (domain: string, claim: Claim) => PublishedRoute): RoutesChange {
  const upserts: PublishedRoute[] = [];
  for (const [domain, claims] of all) {
    const claim = visible(claims);
    if (claim !== null) upserts.push(published(domain, claim));
  }
  return { whole: true, upserts, removed: [] };
}
