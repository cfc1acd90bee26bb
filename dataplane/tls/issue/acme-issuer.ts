import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Publisher } from '../../publish/publisher.ts';
import type { CertStore, StoredCertificate } from '../store/cert-store.ts';
import { reasonOf } from '../store/directory-access.ts';
import { Accounts } from './acme/account-manager.ts';
import type { AuthoritySettings, Issued } from './acme/acme-client.ts';
import type { ChallengeBoard } from './challenges/challenge.ts';
import { Preference } from './challenges/challenge-preference.ts';
import { Boards, PublishedBoard } from './challenges/worker-solver.ts';
import { type DnsSettings, publicDnsOf, recordsOf } from './dns/dns-settings.ts';
import { DnsChallenges } from './dns/dns01-solver.ts';
import { IssueError } from './issue-error.ts';
import { readIssued } from './issued-certificate.ts';
import { type OrderInHand, Orders } from './orders/order-coordinator.ts';
import { certificateId } from './renewal/certificate-id.ts';

export type OrderingTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly stateDir: string;
  /** Who we are among those that share the store. */
  readonly instance: string;
  readonly store: CertStore;
  readonly publisher: Publisher;
  /** The certificate that a name is shown; null where there is none. */
  held(name: string): StoredCertificate | null;
  /** Resolves when every worker shows what the store holds. */
  shown(): Promise<void>;
};

/** From a name to a certificate of it that every worker shows: lease → account → order → checks → store. */
export class Ordering {
  private readonly tools: OrderingTools;
  private readonly published: PublishedBoard;
  private readonly accounts: Accounts;
  private readonly orders: Orders;
  private readonly preference: Preference;
  private settings: AuthoritySettings | null = null;
  private board: ChallengeBoard;

  constructor(tools: OrderingTools) {
    const { store, stateDir, clock, log } = tools;
    this.tools = tools;
    this.published = new PublishedBoard(tools);
    this.board = this.published;
    this.accounts = new Accounts(store, log);
    this.orders = new Orders(tools);
    this.preference = new Preference(stateDir, clock, log);
  }

  /** The authority that is to be asked from now on; null: none. */
  adopt(settings: AuthoritySettings | null): void {
    if (JSON.stringify(settings) === JSON.stringify(this.settings)) return;
    if (settings !== null && JSON.stringify(settings.dns) !== JSON.stringify(this.settings?.dns)) this.useDns(settings.dns);
    this.settings = settings;
    this.accounts.adopt(settings);
    if (settings === null) this.published.shared.stop();
    else this.published.shared.start();
    if (settings !== null) void this.orders.tidy();
  }

  /** Answers what others await, as a process does that this one takes over from. */
  async answerOthers(): Promise<void> {
    const { log } = this.tools;
    await this.published.shared
      .look()
      .catch((error: unknown) => log.debug({ error: String(error) }, 'checks of others are not answered yet'));
  }

  stop(): void {
    this.published.shared.stop();
  }

  /** `replaces` is the ARI identifier of the one that it renews (RFC 9773 5). @throws IssueError. */
  async order(name: string, replaces: string | null): Promise<void> {
    const { settings } = this;
    if (settings === null) throw new Error('nobody is to be asked');
    await this.makeRoom(name);
    const place = (order: OrderInHand): Promise<void> =>
      this.accounts.use(async (authority) => {
        const checkFailed = this.preference.failed.bind(this.preference, name);
        const types = this.preference.of(name);
        const issued = await authority.issue({ name, replaces, types, ...order, checkFailed }, this.board);
        await this.keep(name, issued);
        if (issued.checked !== null) this.preference.worked(name, issued.checked);
      });
    try {
      await this.orders.run(name, settings.directory, this.heldOf(name), place);
    } catch (error) {
      throw isOfSystem(error) ? unwritable(name, error) : error;
    }
  }

  private useDns(dns: DnsSettings | null): void {
    const records = dns && recordsOf(dns, this.tools);
    this.preference.allowDns(records !== null);
    const board = dns && records && new DnsChallenges({ ...this.tools, records, dns: publicDnsOf(dns) });
    this.board = new Boards(this.published, board);
  }

  /** What an order replaces, not what merely covers the name. */
  private heldOf(name: string): StoredCertificate | null {
    const held = this.tools.held(name);
    return held?.source === 'acme' && held.domains.includes(name) ? held : null;
  }

  /** What could not be kept is not ordered. @throws IssueError. */
  private async makeRoom(name: string): Promise<void> {
    try {
      await this.tools.store.prepare();
    } catch (error) {
      throw unwritable(name, error);
    }
  }

  private async keep(name: string, issued: Issued): Promise<void> {
    const { store, shown, clock } = this.tools;
    const pair = readIssued(name, issued, this.heldOf(name), clock.now());
    const ariId = certificateId(pair.chain);
    await store.put({ source: 'acme', domains: [name], pair, order: issued.order, ...(ariId !== null && { ariId }) });
    await shown();
  }
}

/** Whatever goes wrong between us and an authority has become an IssueError: what is left is our own disk. */
const isOfSystem = (error: unknown): boolean => !(error instanceof IssueError) && error instanceof Error && 'syscall' in error;

const unwritable = (name: string, error: unknown): IssueError =>
  new IssueError('local', `${name}: the certificate directory can't be used (${reasonOf(error)}); name another one with --cert-dir PATH`);
