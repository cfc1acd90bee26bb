import { applying } from './changes/applying.ts';
import { cluster } from './changes/cluster.ts';
import { commands } from './changes/commands.ts';
import { posting } from './changes/posting.ts';
import { routes } from './changes/routes.ts';
import { serving } from './changes/serving.ts';
import { sluicefile } from './changes/sluicefile.ts';
import { startUp } from './changes/start-up.ts';
import { accessLog } from './features/access-log.ts';
import { analytics } from './features/analytics.ts';
import { certificateStore } from './features/certificate-store.ts';
import { certificates } from './features/certificates.ts';
import { policies } from './features/policies.ts';
import { traces } from './features/traces.ts';
import { connections } from './memory/connections.ts';
import { idle } from './memory/idle.ts';
import { memory } from './memory/memory.ts';
import { rest } from './memory/rest.ts';
import { allocations } from './traffic/allocations.ts';
import { flood } from './traffic/flood.ts';
import { scaling } from './traffic/scaling.ts';
import { tail, tlsTail } from './traffic/tail.ts';
import { websockets } from './traffic/websockets.ts';
import { cached, connecting, handshakes, http2, http2Large, http2Wide, keepalive, large, resumptions, tls } from './traffic/wire.ts';

export const BENCHMARKS = {
  keepalive,
  tls,
  http2,
  http2Wide,
  connecting,
  handshakes,
  resumptions,
  large,
  http2Large,
  websockets,
  tail,
  tlsTail,
  scaling,
  routes,
  idle,
  rest,
  startUp,
  allocations,
  cached,
  accessLog,
  traces,
  certificates,
  certificateStore,
  commands,
  connections,
  analytics,
  flood,
  policies,
  applying,
  posting,
  serving,
  sluicefile,
  cluster,
  memory,
} as const;

export type BenchmarkName = keyof typeof BENCHMARKS;
