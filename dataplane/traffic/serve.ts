import { normalizedPath } from '../../shared/values/path.ts';
import { answer } from './exchange/answer.ts';
import type { Exchange, RequestPath } from './exchange/exchange.ts';
import { AMBIGUOUS_PATH, MISDIRECTED, NO_BLOCK, NO_ROUTE, OTHER_RULE, type OwnAnswer, PASSED_ON } from './exchange/own-answer.ts';
import type { HostIndex } from './match/host-index.ts';
import { isOwnPath } from './match/own-path.ts';
import { rawPath, withoutPrefix } from './match/path.ts';
import { localAddressOf } from './match/place.ts';
import { clientAuthAt } from './policy/client-certificate/client-auth.ts';
import { LATER, type Policy, type PolicyTools } from './policy/policy.ts';
import type { Challenges } from './respond/challenges.ts';
import { blockFor, routeOf } from './route/choose.ts';
import type { CompiledBlock, CompiledRoute } from './route/compiled-route.ts';

/** Where to resume an exchange that is waiting for a policy's decision. */
type Undecided = { readonly block: CompiledBlock; readonly next: number };

/**
 * THE REQUEST PATH: host → route → block → policies → responder. The way back begins with the responder's answer: `relay.ts` passes it
 * through the filters of the block to `x.client`.
 */
export class Server implements RequestPath {
  private readonly index: HostIndex<CompiledRoute>;
  private readonly challenges: Challenges;
  private readonly tools: PolicyTools;
  /** An exchange whose client has left is never resumed. */
  private readonly undecided = new WeakMap<Exchange, Undecided>();

  constructor(index: HostIndex<CompiledRoute>, challenges: Challenges, tools: PolicyTools) {
    this.index = index;
    this.challenges = challenges;
    this.tools = tools;
  }

  serve(x: Exchange): void {
    if (x.route !== null) x.startOver();
    const challenge = this.challenges.find(x.target);
    if (challenge !== null) return answer(x, challenge);
    if (x.misdirected) return answer(x, MISDIRECTED);
    const route = routeOf(this.index, x);
    if (route === 'passed on') return this.sendAway(x, PASSED_ON);
    if (route === null) return answer(x, NO_ROUTE);
    if (x.clientRule !== null && x.clientRule !== clientRuleFor(route, x)) return this.sendAway(x, OTHER_RULE);
    x.route = route;
    x.path = normalizedPath(rawPath(x.target));
    if (isOwnPath(x.path, x.target)) return route.ownPaths.serve(x, this.tools);
    if (route.ambiguity?.(x)) return answer(x, AMBIGUOUS_PATH);
    const block = blockFor(route, x);
    if (block === null) return answer(x, NO_BLOCK);
    x.block = block;
    x.upstreamTarget = block.strip === '' ? x.target : withoutPrefix(x.target, block.strip, block.folds);
    x.upstreamMethod = x.method;
    x.upstreamFields = x.fields;
    x.hostOfTarget = null;
    this.decide(x, block, 0);
  }

  /** Continues with the block that the exchange began with. */
  resume(x: Exchange, own: OwnAnswer | null): void {
    const undecided = this.undecided.get(x);
    this.undecided.delete(x);
    if (undecided === undefined) return;
    if (own !== null) answer(x, own);
    else this.decide(x, undecided.block, undecided.next);
  }

  routedAs(x: Exchange): Exchange {
    return x;
  }

  /** Also applies if the host's rule has changed since the handshake: later requests on this connection would fail the same way. */
  private sendAway(x: Exchange, own: OwnAnswer): void {
    x.endsConnection = true;
    answer(x, own);
  }

  /** Runs the policies, starting with `first`. */
  private decide(x: Exchange, block: CompiledBlock, first: number): void {
    const { policies, responder } = block;
    for (let at = first; at < policies.length; at++) {
      const own = (policies[at] as Policy).decide(x, this.tools);
      if (own === null) continue;
      if (own === LATER) this.undecided.set(x, { block, next: at + 1 });
      else answer(x, own);
      return;
    }
    if (responder === null) answer(x, NO_BLOCK);
    else responder.respond(x);
  }
}

/** The client certificate rule where a request arrived; empty for none. */
const clientRuleFor = ({ clientAuth }: CompiledRoute, x: Exchange): string =>
  clientAuth.length === 0 ? '' : (clientAuthAt(clientAuth, x.port, () => localAddressOf(x))?.rule ?? '');
