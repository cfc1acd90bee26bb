import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Publisher } from '../../publish/publisher.ts';
import type { StoredCertificate } from '../store/cert-store.ts';
import type { DirectoryStore } from '../store/directory-store.ts';
import { AccountManager } from './acme/account-manager.ts';
import type { AcmeSettings, IssuedCertificate } from './acme/acme-client.ts';
import type { ChallengeSolver } from './challenges/challenge.ts';
import { ChallengePreference } from './challenges/challenge-preference.ts';
import { SolverByType, WorkerSolver } from './challenges/worker-solver.ts';
import { createPropagationCheck, createProvider, type DnsSettings } from './dns/dns-settings.ts';
import { Dns01Solver } from './dns/dns01-solver.ts';
import { IssueError } from './issue-error.ts';
import { readIssued } from './issued-certificate.ts';
import { OrderCoordinator, type OrderProgress } from './orders/order-coordinator.ts';
import { certificateId } from './renewal/certificate-id.ts';
import { inStore, storeError } from './store-error.ts';

export type AcmeIssuerTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly stateDir: string;
  /** Our id among the instances that share the store. */
  readonly instance: string;
  readonly store: DirectoryStore;
  readonly publisher: Publisher;
  /** The certificate currently served for a name; null if there is none. */
  current(name: string): StoredCertificate | null;
  /** Resolves when every worker serves what the store holds. */
  published(): Promise<void>;
};

/** Issues the certificate for one name over ACME: lease → account → order → challenges → store → workers. */
export class AcmeIssuer {
  private readonly tools: AcmeIssuerTools;
  private readonly workerSolver: WorkerSolver;
  private readonly accounts: AccountManager;
  private readonly coordinator: OrderCoordinator;
  private readonly challengePreference: ChallengePreference;
  private settings: AcmeSettings | null = null;
  private solver: ChallengeSolver;
  private dnsSolver: Dns01Solver | null = null;

  constructor(tools: AcmeIssuerTools) {
    const { store, stateDir, clock, log } = tools;
    this.tools = tools;
    this.workerSolver = new WorkerSolver(tools);
    this.solver = this.workerSolver;
    this.accounts = new AccountManager(store, log);
    this.coordinator = new OrderCoordinator(tools);
    this.challengePreference = new ChallengePreference(stateDir, clock, log);
  }

  /** Uses this authority from now on; null: none. */
  setAcme(settings: AcmeSettings | null): void {
    if (JSON.stringify(settings) === JSON.stringify(this.settings)) return;
    if (settings !== null && JSON.stringify(settings.dns) !== JSON.stringify(this.settings?.dns)) this.useDns(settings.dns);
    this.settings = settings;
    this.accounts.setAcme(settings);
    if (settings === null) this.workerSolver.shared.stop();
    else this.workerSolver.shared.start();
    if (settings !== null) void this.coordinator.deleteOver();
  }

  /** Answers the challenges of other instances, as the predecessor of a takeover does. */
  async answerOtherInstances(): Promise<void> {
    const { log } = this.tools;
    await this.workerSolver.shared
      .poll()
      .catch((error: unknown) => log.debug({ error: String(error) }, 'challenges of other instances are not answered yet'));
  }

  /**
   * Another process takes over: orders that have not presented a challenge yet are left to it. Resolves when what it needs is on disk, or
   * can't be saved.
   */
  async pause(): Promise<void> {
    this.workerSolver.pause();
    await Promise.all([this.coordinator.release(), this.challengePreference.release(), this.dnsSolver?.handOver()]);
  }

  resume(): void {
    this.workerSolver.resume();
    this.coordinator.reclaim();
    this.challengePreference.reclaim();
    this.dnsSolver?.reclaim();
  }

  /** The same if the process ends. */
  async stop(): Promise<void> {
    this.workerSolver.pause();
    this.workerSolver.shared.stop();
    await Promise.all([this.coordinator.release(), this.challengePreference.release(), this.dnsSolver?.release()]);
  }

  /** `replaces` is the ARI CertID of the certificate that it renews (RFC 9773 5). @throws IssueError. */
  async issue(name: string, replaces: string | null): Promise<void> {
    const { settings } = this;
    if (settings === null) throw new Error('no certificate authority is configured');
    await this.prepareStore(name);
    const placeOrder = (order: OrderProgress): Promise<void> =>
      this.accounts.withClient(async (client) => {
        const checkFailed = this.challengePreference.failed.bind(this.challengePreference, name);
        const types = this.challengePreference.typesFor(name, order.begun && this.workerSolver.leftFor(name));
        // Without its kind, such a failure would count as one on the way to the authority.
        const remember: OrderProgress['remember'] = (begun) => inStore(name, order.remember(begun));
        const request = { name, replaces, challengeTypes: types, begun: order.begun, remember, challengeFailed: checkFailed };
        const issued = await client.issue(request, this.solver);
        await this.store(name, issued);
        if (issued.validatedBy !== null) this.challengePreference.worked(name, issued.validatedBy);
      });
    try {
      await this.coordinator.run(name, settings.directory, this.replacedBy(name), placeOrder);
    } catch (error) {
      throw isSystemError(error) ? storeError(name, error) : error;
    }
  }

  private useDns(dns: DnsSettings | null): void {
    const provider = dns && createProvider(dns, this.tools);
    this.challengePreference.allowDns(provider !== null);
    this.dnsSolver = dns && provider && new Dns01Solver({ ...this.tools, provider, propagation: createPropagationCheck(dns) });
    this.solver = new SolverByType(this.workerSolver, this.dnsSolver);
  }

  /** The certificate that an order replaces; one that merely covers the name does not count. */
  private replacedBy(name: string): StoredCertificate | null {
    const held = this.tools.current(name);
    return held?.source === 'acme' && held.domains.includes(name) ? held : null;
  }

  /** Checks that the certificate could be stored before it is ordered. @throws IssueError. */
  private async prepareStore(name: string): Promise<void> {
    await inStore(name, this.tools.store.prepare());
  }

  private async store(name: string, issued: IssuedCertificate): Promise<void> {
    const { store, published, clock } = this.tools;
    const pair = readIssued(name, issued, this.replacedBy(name), clock.now());
    const ariId = certificateId(pair.chain);
    await store.put({ source: 'acme', domains: [name], pair, order: issued.order, ...(ariId !== null && { ariId }) });
    await published();
  }
}

/** ACME failures are IssueErrors by now, so a remaining system error is about our own disk. */
const isSystemError = (error: unknown): boolean => !(error instanceof IssueError) && error instanceof Error && 'syscall' in error;
