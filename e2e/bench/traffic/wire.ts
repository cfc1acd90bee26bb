import { Folder } from '../../testing/dataplane.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { cachingSluice } from '../contenders/sluice.ts';
import { withCompetitors } from '../contest/competitors.ts';
import type { Contest } from '../contest/contest.ts';
import { type Goals, judged } from '../contest/goals.ts';
import { PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { type LoadShape, rounds, type Timing } from '../contest/rounds.ts';
import { clients } from '../load/clients.ts';
import { h2load } from '../load/h2load.ts';
import type { Tool } from '../load/load.ts';
import { wrk } from '../load/wrk.ts';

type Kind = {
  readonly what: string;
  readonly load?: LoadShape;
  readonly goals: Goals;
  /** Whether ours answers from its cache; the others do not. */
  readonly cached?: true;
  /** wrk if absent. */
  readonly tool?: Tool;
};

/** One worker compared with other proxies on the same core, in turns, each fully loaded. */
const contest =
  (kind: Kind) =>
  async (timing: Timing): Promise<Contest[]> => {
    const { what, load = {}, goals, cached, tool = wrk } = kind;
    using folder = new Folder();
    const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
    const setup = { cores: [PROXY_CORE], upstream: upstream.port, secure: load.secure ?? false, ...(cached && { ours: cachingSluice }) };
    try {
      return await withCompetitors(setup, async (competitors) => [
        judged(what, 'requests', await rounds(competitors, timing, tool, () => load), goals),
      ]);
    } finally {
      await upstream.stop();
    }
  };

export const keepalive = contest({ what: 'small responses, 64 keep-alive connections', goals: { nginx: 1, haproxy: 1 } });

export const tls = contest({
  what: 'TLS, small responses, 64 keep-alive connections',
  load: { secure: true },
  goals: { nginx: 0.9, caddy: 3.5 },
});

export const connecting = contest({ what: 'a new connection for each request', load: { close: true }, goals: { nginx: 0.8, traefik: 1 } });

const HANDSHAKE_GOALS = { nginx: 0.9, traefik: 1 };

export const handshakes = contest({
  what: 'a full TLS 1.3 handshake for each request',
  load: { secure: true, close: true },
  goals: HANDSHAKE_GOALS,
  tool: clients('handshake-clients.ts'),
});

/** wrk resumes a session whenever it has got a ticket: with others always, with ours every second time (docs/performance.md). */
export const resumptions = contest({
  what: 'a TLS 1.3 handshake for each request, resumed if there is a ticket',
  load: { secure: true, close: true },
  goals: HANDSHAKE_GOALS,
});

const HTTP2_GOALS = { nginx: 0.8, caddy: 5, traefik: 3 };

export const http2 = contest({
  what: 'HTTP/2 over TLS, small responses, 16 connections with 10 concurrent requests each',
  load: { secure: true, connections: 16, streams: 10 },
  goals: HTTP2_GOALS,
  tool: h2load,
});

export const http2Wide = contest({
  what: 'HTTP/2 over TLS, small responses, 16 connections with 16 concurrent requests each',
  load: { secure: true, connections: 16, streams: 16 },
  goals: HTTP2_GOALS,
  tool: h2load,
});

export const large = contest({ what: 'responses of 10 MB', load: { path: '/large', connections: 16 }, goals: { best: 1 } });

export const http2Large = contest({
  what: 'responses of 10 MB over HTTP/2 and TLS',
  // Responses that have not ended when the round does are not counted, so only a few are concurrent.
  load: { secure: true, path: '/large', connections: 4, streams: 1 },
  goals: { best: 1 },
  tool: h2load,
});

/** Responses from the cache, compared with the same responses from the upstream through the others. */
export const cached = contest({ what: 'small responses from the cache', goals: { nginx: 1.2 }, cached: true });
