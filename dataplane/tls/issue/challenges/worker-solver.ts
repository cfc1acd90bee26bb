import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Publisher, StateChange } from '../../../publish/publisher.ts';
import { IssueError } from '../issue-error.ts';
import { inStore } from '../store-error.ts';
import type { Challenge, ChallengeSolver, ChallengeType } from './challenge.ts';
import { type SharedToken, SharedTokens, type SharedTokensTools } from './shared-tokens.ts';
import { tlsAlpnCertificate } from './tls-alpn-certificate.ts';

type PublishedChallenge = NonNullable<StateChange['challenges']>[number];

export type WorkerSolverTools = Omit<SharedTokensTools, 'found'> & { readonly publisher: Publisher; readonly log: Log };

/**
 * Solves HTTP-01 and TLS-ALPN-01 in the workers, also for instances that share the store. A challenge counts as presented once every worker
 * answers it.
 */
export class WorkerSolver implements ChallengeSolver {
  readonly shared: SharedTokens;
  private readonly tools: WorkerSolverTools;
  private readonly active = new Map<string, PublishedChallenge>();
  private foreign: readonly PublishedChallenge[] = [];
  /** The answers for others, by `keyOf`; null if there can't be one. Each may be a new key with its certificate, so it is made once. */
  private answers: ReadonlyMap<string, Promise<PublishedChallenge | null>> = new Map();
  /** The tokens that `foreign` is, or will be, about. */
  private foreignTokens: readonly SharedToken[] = [];
  private paused = false;

  constructor(tools: WorkerSolverTools) {
    this.tools = tools;
    this.shared = new SharedTokens({ ...tools, found: (tokens) => this.answerForOthers(tokens) });
  }

  /** @throws IssueError while paused: the authority may connect to the workers of the next process, which do not know the challenge. */
  async present(challenge: Challenge): Promise<void> {
    const { type, name, token, keyAuthorization } = challenge;
    if (this.paused) throw new IssueError('local', `${name}: the process hands over or ends; the next one goes on with the order`);
    const shared = { token, keyAuthorization, ...(type === 'tls-alpn-01' && { name }) };
    this.active.set(token, await toPublished(shared));
    await Promise.all([this.publish(), inStore(name, this.shared.put(shared))]);
  }

  /** What another process has presented for a name, and has not removed: it has ended in the middle of the order, as after a takeover. */
  leftFor(name: string): ChallengeType | null {
    return this.foreignTokens.some((token) => token.name === name) ? 'tls-alpn-01' : null;
  }

  private async answerForOthers(tokens: readonly SharedToken[]): Promise<void> {
    this.foreignTokens = tokens;
    // An authority may give a token to challenges of several types.
    this.answers = new Map(tokens.map((shared) => [keyOf(shared), this.answers.get(keyOf(shared)) ?? this.answerFor(shared)]));
    const answers = await Promise.all(this.answers.values());
    // Others may have been found meanwhile.
    if (this.foreignTokens !== tokens) return;
    this.foreign = answers.filter((answer) => answer !== null);
    this.publishSoon('of others');
  }

  private answerFor(shared: SharedToken): Promise<PublishedChallenge | null> {
    return toPublished(shared).catch((error: unknown) => {
      this.tools.log.warn({ name: shared.name, error: String(error) }, 'a challenge of another data plane cannot be answered here');
      return null;
    });
  }

  cleanUp({ token, name }: Challenge): void {
    if (!this.active.delete(token)) return;
    this.publishSoon(name);
    this.shared
      .delete(token)
      .catch((error: unknown) =>
        this.tools.log.debug({ name, error: String(error) }, 'a challenge token could not be deleted and expires in an hour'),
      );
  }

  /** Presents no further challenges. Those that are presented stay. */
  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  private publishSoon(name: string): void {
    this.publish().catch((error: unknown) =>
      this.tools.log.warn({ name, error: String(error) }, 'not every worker has the current challenges'),
    );
  }

  private publish(): Promise<number> {
    // A crash may have left an older one for the same name: of two, workers use the last.
    return this.tools.publisher.publish({ challenges: [...this.foreign, ...this.active.values()] });
  }
}

const keyOf = (shared: SharedToken): string => JSON.stringify(shared);

async function toPublished({ token, keyAuthorization, name }: SharedToken): Promise<PublishedChallenge> {
  return name === undefined ? { token, keyAuthorization } : { name, ...(await tlsAlpnCertificate(name, keyAuthorization)) };
}

/** Passes each challenge to the solver for its type. */
export class SolverByType implements ChallengeSolver {
  private readonly workers: ChallengeSolver;
  private readonly dns: ChallengeSolver | null;

  /** `dns`: the DNS-01 solver; null if records can't be set. */
  constructor(workers: ChallengeSolver, dns: ChallengeSolver | null) {
    this.workers = workers;
    this.dns = dns;
  }

  present(challenge: Challenge): Promise<void> {
    return this.solverFor(challenge).present(challenge);
  }

  cleanUp(challenge: Challenge): void {
    this.solverFor(challenge).cleanUp(challenge);
  }

  private solverFor({ type }: Challenge): ChallengeSolver {
    return type === 'dns-01' && this.dns !== null ? this.dns : this.workers;
  }
}
