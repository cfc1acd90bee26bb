import { randomInt } from 'node:crypto';
import type { ShareCondition } from '../../../shared/condition.ts';
import { USUAL_SPLIT_COOKIE } from '../../../shared/share.ts';
import { clientNetwork } from '../../ledger/client-network.ts';
import { keyOf } from '../../ledger/hash.ts';
import { fieldsIn } from '../codec/http1/kept-lines.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { cookieIn } from '../exchange/values/cookie.ts';

/** Draws are whole numbers below this. */
const DRAWS = 1_000_000;
/** How long a browser keeps its draw (s): 30 days. */
const COOKIE_SECS = 2_592_000;

/** The parts of a request that a share reads and sets. */
export type DrawnRequest = Pick<Exchange, 'fields' | 'secure' | 'draw' | 'splitLine'> & { readonly client: { readonly address: string } };

/**
 * Whether a request is within a share of all requests. Shares of one kind divide the same draws, so each request is in exactly one of
 * `0-90` and `90-100` of 100. A client stays in a share that grows at the expense of the one next to it.
 */
export function shareTest({ from, to, of, by = 'request', name }: ShareCondition): (x: DrawnRequest) => boolean {
  const [least, end] = [(from / of) * DRAWS, (to / of) * DRAWS];
  const draw = DRAW[by](name ?? '');
  return (x) => {
    const drawn = draw(x);
    return drawn >= least && drawn < end;
  };
}

/** Draws once for a request, however often it is tested. */
function drawOf(x: DrawnRequest): number {
  if (x.draw < 0) x.draw = randomInt(DRAWS);
  return x.draw;
}

const drawFrom = (text: string): number => keyOf(`split\n${text}`).hash % DRAWS;

const DRAW: Readonly<Record<NonNullable<ShareCondition['by']>, (name: string) => (x: DrawnRequest) => number>> = {
  request: () => drawOf,
  address: () => (x) => drawFrom(clientNetwork(x.client.address)),
  header(name) {
    const lower = name.toLowerCase();
    return (x) => {
      const value = fieldsIn(x.fields, lower).join(', ');
      return value === '' ? drawOf(x) : drawFrom(value);
    };
  },
  cookie(name) {
    const cookie = name === '' ? USUAL_SPLIT_COOKIE : name;
    return (x) => {
      const value = cookieIn(x.fields, cookie);
      if (value !== null && /^\d{1,6}$/.test(value)) return Number(value);
      const drawn = drawOf(x);
      const scope = x.secure ? 'Secure; SameSite=None' : 'SameSite=Lax';
      x.splitLine = `Set-Cookie: ${cookie}=${drawn}; Path=/; Max-Age=${COOKIE_SECS}; HttpOnly; ${scope}\r\n`;
      return drawn;
    };
  },
};
