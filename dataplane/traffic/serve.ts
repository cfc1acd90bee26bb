import { normalizedPath } from '../../shared/values/path.ts';
import { MOST_HOPS } from './codec/hops.ts';
import {
  AMBIGUOUS_PATH,
  answer,
  LAST_HOP,
  LOOP,
  MISDIRECTED,
  NO_BLOCK,
  NO_ROUTE,
  NO_TRACE,
  OTHER_RULE,
  OWN_PATH,
  type OwnAnswer,
} from './exchange/answer.ts';
import type { Exchange } from './exchange/exchange.ts';
import type { HostIndex } from './match/host-index.ts';
import { isOwnPath } from './match/own-path.ts';
import { rawPath } from './match/path.ts';
import { LATER, type Policy, type PolicyTools } from './policy/order.ts';
import type { Challenges } from './respond/challenges.ts';
import { blockFor, type CompiledBlock, type CompiledRoute } from './route/compile.ts';
import type { Forwarder } from './upstream/forward.ts';
import { endsHere } from './upstream/max-forwards.ts';

/** THE REQUEST PATH: host → route → block → policies → upstream. What comes back goes through `x.client`. */
export class Server {
  private readonly index: HostIndex<CompiledRoute>;
  private readonly challenges: Challenges;
  private readonly tools: PolicyTools;
  private readonly forwarder: Forwarder;
  /** Exchanges that a policy has yet to decide on, and where to go on with each. Nobody resumes one whose client has left. */
  private readonly undecided = new WeakMap<Exchange, number>();

  constructor(index: HostIndex<CompiledRoute>, challenges: Challenges, tools: PolicyTools, forwarder: Forwarder) {
    this.index = index;
    this.challenges = challenges;
    this.tools = tools;
    this.forwarder = forwarder;
  }

  serve(x: Exchange): void {
    const challenge = this.challenges.find(x.target);
    if (challenge !== null) return answer(x, challenge);
    if (x.misdirected) return answer(x, MISDIRECTED);
    const route = this.index.find(x.host);
    if (route === null) return answer(x, NO_ROUTE);
    if (x.clientRule !== route.clientRule && x.clientRule !== null) return this.sendAway(x);
    x.route = route;
    x.path = normalizedPath(rawPath(x.target));
    if (isOwnPath(x.path, x.target)) return answer(x, OWN_PATH);
    if (route.ambiguity?.(x)) return answer(x, AMBIGUOUS_PATH);
    const block = blockFor(route, x);
    if (block === null) return answer(x, NO_BLOCK);
    x.block = block;
    this.decide(x, block, 0);
  }

  /** Goes on with an exchange whose policy said LATER, on the block that it began with: null asks the policies after that one. */
  resume(x: Exchange, own: OwnAnswer | null): void {
    const next = this.undecided.get(x);
    this.undecided.delete(x);
    // The client may have left meanwhile.
    if (next === undefined || x.block === null || x.status !== 0) return;
    if (own !== null) answer(x, own);
    else this.decide(x, x.block, next);
  }

  /** Also where the host's rule has changed since the handshake: then no later request is better off here. */
  private sendAway(x: Exchange): void {
    x.endsConnection = true;
    answer(x, OTHER_RULE);
  }

  /** Asks the policies from the `first` on. */
  private decide(x: Exchange, block: CompiledBlock, first: number): void {
    const { policies } = block;
    for (let at = first; at < policies.length; at++) {
      const own = (policies[at] as Policy).decide(x, this.tools);
      if (own === null) continue;
      if (own === LATER) this.undecided.set(x, at + 1);
      else answer(x, own);
      return;
    }
    if (block.pool === null) return answer(x, NO_BLOCK);
    if (endsHere(x.method, x.fields)) return answer(x, x.method === 'TRACE' ? NO_TRACE : LAST_HOP);
    if (x.hops > MOST_HOPS) return answer(x, LOOP);
    this.forwarder.forward(x, block.pool);
  }
}
