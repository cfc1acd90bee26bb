import type { BeaconOutcome, CacheResult, VitalsObservation } from '../protocol.ts';
import type { BodyLimit } from './body-limit.ts';
import type { CrossOrigin } from './cross-origin.ts';
import type { Failure } from './failure.ts';
import type { BodyStage } from './filter.ts';
import type { NamedEndpoint } from './named-endpoint.ts';
import type { Trace } from './tracing/trace.ts';

/** Values that few exchanges set, with their defaults. */
class RareValues {
  expectsContinue = false;
  maySendBody = false;
  privacyControl = false;
  prefetch = false;
  bindsConnection = false;
  upgrade: string | null = null;
  hops = 0;
  misdirected = false;
  trace: Trace | null = null;
  upstreamMethod: string | null = null;
  hostOfTarget: 'hostport' | 'host' | null = null;
  held: Buffer | null = null;
  bodyStart: Buffer | null = null;
  crossOrigin: CrossOrigin | null = null;
  bodyLimit: BodyLimit | null = null;
  cancelTimeLimit: (() => void) | null = null;
  filtering: BodyStage | null = null;
  beacon: BeaconOutcome | null = null;
  user: string | null = null;
  vitals: VitalsObservation | null = null;
  lastFailure: Failure | null = null;
  affinityLine: string = '';
  draw: number = -1;
  splitLine: string = '';
  authCookies: string = '';
  mirrored: boolean = false;
  admitted: boolean = false;
  tried: NamedEndpoint[] | null = null;
  refusals: number = 0;
  resent: number = 0;
  counted: boolean = false;
  endsConnection: boolean = false;
  answerEndsAtClose: boolean = false;
  holdsTarget: boolean = false;
  hasErrorPage: boolean = false;
  cached: CacheResult | null = null;
  failure: string = '';
  pathCost: number = 0;
}

/** The values of every exchange that has not set any. Never changed. */
const DEFAULTS = new RareValues();

/** The part of an exchange that most exchanges do not use. It takes no memory until one of its members is set to another value. */
export class RareState {
  protected rare = DEFAULTS;

  /** Its own values, created on first use. */
  protected own(): RareValues {
    if (this.rare === DEFAULTS) this.rare = new RareValues();
    return this.rare;
  }

  /** The results of policies and conditions; those of others last as long as the request. */
  protected forgetDecisions(): void {
    this.own().admitted = true;
    this.crossOrigin = null;
    this.bodyLimit = null;
    this.user = null;
    this.affinityLine = '';
    this.splitLine = '';
    this.authCookies = '';
  }

  /** What replaces the value of Host once a target is chosen: its address, or its name alone; null for nothing. */
  get hostOfTarget(): 'hostport' | 'host' | null {
    return this.rare.hostOfTarget;
  }
  set hostOfTarget(value: 'hostport' | 'host' | null) {
    if (value !== this.rare.hostOfTarget) this.own().hostOfTarget = value;
  }

  /** A small body that was buffered whole; null when it streams or there is none. */
  get held(): Buffer | null {
    return this.rare.held;
  }
  set held(value: Buffer | null) {
    if (value !== this.rare.held) this.own().held = value;
  }

  /** What a target that has not processed the request has got of a body whose rest has not been read yet; null if there is none. */
  get bodyStart(): Buffer | null {
    return this.rare.bodyStart;
  }
  set bodyStart(value: Buffer | null) {
    if (value !== this.rare.bodyStart) this.own().bodyStart = value;
  }

  /** The site's CORS settings; null if it leaves CORS to the upstream. */
  get crossOrigin(): CrossOrigin | null {
    return this.rare.crossOrigin;
  }
  set crossOrigin(value: CrossOrigin | null) {
    if (value !== this.rare.crossOrigin) this.own().crossOrigin = value;
  }

  /** For a body of unknown length; null for no limit. */
  get bodyLimit(): BodyLimit | null {
    return this.rare.bodyLimit;
  }
  set bodyLimit(value: BodyLimit | null) {
    if (value !== this.rare.bodyLimit) this.own().bodyLimit = value;
  }

  /** Cancels the time limit of the whole request; null if there is none. */
  get cancelTimeLimit(): (() => void) | null {
    return this.rare.cancelTimeLimit;
  }
  set cancelTimeLimit(value: (() => void) | null) {
    if (value !== this.rare.cancelTimeLimit) this.own().cancelTimeLimit = value;
  }

  /** The filters that the body of its response passes through; null for none. */
  get filtering(): BodyStage | null {
    return this.rare.filtering;
  }
  set filtering(value: BodyStage | null) {
    if (value !== this.rare.filtering) this.own().filtering = value;
  }

  /** What became of the script that measures pages. */
  get beacon(): BeaconOutcome | null {
    return this.rare.beacon;
  }
  set beacon(value: BeaconOutcome | null) {
    if (value !== this.rare.beacon) this.own().beacon = value;
  }

  /** The user whose password was correct; null if no password was checked. */
  get user(): string | null {
    return this.rare.user;
  }
  set user(value: string | null) {
    if (value !== this.rare.user) this.own().user = value;
  }

  /** The measurements that a page has reported. */
  get vitals(): VitalsObservation | null {
    return this.rare.vitals;
  }
  set vitals(value: VitalsObservation | null) {
    if (value !== this.rare.vitals) this.own().vitals = value;
  }

  get lastFailure(): Failure | null {
    return this.rare.lastFailure;
  }
  set lastFailure(value: Failure | null) {
    if (value !== this.rare.lastFailure) this.own().lastFailure = value;
  }

  /** The cookie that sends the client to the same target again, as a line for the response; empty for none. */
  get affinityLine(): string {
    return this.rare.affinityLine;
  }
  set affinityLine(value: string) {
    if (value !== this.rare.affinityLine) this.own().affinityLine = value;
  }

  /** The number drawn to choose one of several groups; -1 if none was drawn. */
  get draw(): number {
    return this.rare.draw;
  }
  set draw(value: number) {
    if (value !== this.rare.draw) this.own().draw = value;
  }

  /** The cookie that keeps a browser in its group, as a line for the response; empty for none. */
  get splitLine(): string {
    return this.rare.splitLine;
  }
  set splitLine(value: string) {
    if (value !== this.rare.splitLine) this.own().splitLine = value;
  }

  /** The cookies that the authentication server has set, as lines for the response; empty for none. */
  get authCookies(): string {
    return this.rare.authCookies;
  }
  set authCookies(value: string) {
    if (value !== this.rare.authCookies) this.own().authCookies = value;
  }

  /** Whether a mirror has decided about it, so that it is copied once however often it is served. */
  get mirrored(): boolean {
    return this.rare.mirrored;
  }
  set mirrored(value: boolean) {
    if (value !== this.rare.mirrored) this.own().mirrored = value;
  }

  /** Whether an earlier table has admitted it, so that it counts once for rate limits however often it is served. */
  get admitted(): boolean {
    return this.rare.admitted;
  }

  /** Targets that have already failed this request. */
  get tried(): NamedEndpoint[] | null {
    return this.rare.tried;
  }
  set tried(value: NamedEndpoint[] | null) {
    if (value !== this.rare.tried) this.own().tried = value;
  }

  /** How many of these refused the connection. */
  get refusals(): number {
    return this.rare.refusals;
  }
  set refusals(value: number) {
    if (value !== this.rare.refusals) this.own().refusals = value;
  }

  /** How often it was sent again because its target had closed the connection. */
  get resent(): number {
    return this.rare.resent;
  }
  set resent(value: number) {
    if (value !== this.rare.resent) this.own().resent = value;
  }

  /** Whether it was counted before its end, as upgrades are. */
  get counted(): boolean {
    return this.rare.counted;
  }
  set counted(value: boolean) {
    if (value !== this.rare.counted) this.own().counted = value;
  }

  /** Whether an upstream has told its client to continue with the body (100). */
  get maySendBody(): boolean {
    return this.rare.maySendBody;
  }
  set maySendBody(value: boolean) {
    if (value !== this.rare.maySendBody) this.own().maySendBody = value;
  }

  /** Whether its connection must not be reused for this host and is closed after the response. */
  get endsConnection(): boolean {
    return this.rare.endsConnection;
  }
  set endsConnection(value: boolean) {
    if (value !== this.rare.endsConnection) this.own().endsConnection = value;
  }

  /** Whether only the end of the upstream's connection marks the end of its response body. */
  get answerEndsAtClose(): boolean {
    return this.rare.answerEndsAtClose;
  }
  set answerEndsAtClose(value: boolean) {
    if (value !== this.rare.answerEndsAtClose) this.own().answerEndsAtClose = value;
  }

  /** Whether its client has ever read the response more slowly than its sender could send it. */
  get holdsTarget(): boolean {
    return this.rare.holdsTarget;
  }
  set holdsTarget(value: boolean) {
    if (value !== this.rare.holdsTarget) this.own().holdsTarget = value;
  }

  /** Whether its response is a page for an error of the proxy itself, which nothing replaces. */
  get hasErrorPage(): boolean {
    return this.rare.hasErrorPage;
  }
  set hasErrorPage(value: boolean) {
    if (value !== this.rare.hasErrorPage) this.own().hasErrorPage = value;
  }

  /** How the cache handled it; null if it did not. */
  get cached(): CacheResult | null {
    return this.rare.cached;
  }
  set cached(value: CacheResult | null) {
    if (value !== this.rare.cached) this.own().cached = value;
  }

  /** Why the proxy answered itself, for the log; empty when it did not. */
  get failure(): string {
    return this.rare.failure;
  }
  set failure(value: string) {
    if (value !== this.rare.failure) this.own().failure = value;
  }

  /** What checking the path for ambiguity has cost the worker, in units of the run queue; 0 for an unambiguous path. */
  get pathCost(): number {
    return this.rare.pathCost;
  }
  set pathCost(value: number) {
    if (value !== this.rare.pathCost) this.own().pathCost = value;
  }

  // What the request says, and where it belongs. Only a new exchange sets it.

  get expectsContinue(): boolean {
    return this.rare.expectsContinue;
  }

  /** Whether its sender asks not to be tracked (Sec-GPC). */
  get privacyControl(): boolean {
    return this.rare.privacyControl;
  }

  /** Whether a browser prefetches or prerenders it. */
  get prefetch(): boolean {
    return this.rare.prefetch;
  }

  /** Whether it authenticates its connection, and not only itself (NTLM, Negotiate). */
  get bindsConnection(): boolean {
    return this.rare.bindsConnection;
  }

  /** The protocols that the client offers to upgrade to; null for an ordinary request. */
  get upgrade(): string | null {
    return this.rare.upgrade;
  }

  /** How many proxies like this one have forwarded it; Infinity if the count is invalid. */
  get hops(): number {
    return this.rare.hops;
  }

  /** Whether the certificate that the client was served is not valid for this host. */
  get misdirected(): boolean {
    return this.rare.misdirected;
  }

  /** null if requests are not traced. */
  get trace(): Trace | null {
    return this.rare.trace;
  }
}
