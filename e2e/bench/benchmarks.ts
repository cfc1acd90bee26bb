import { accessLog } from './access-log.ts';
import { allocations } from './allocations.ts';
import { analytics } from './analytics.ts';
import { applying } from './applying.ts';
import { certificateStore } from './certificate-store.ts';
import { certificates } from './certificates.ts';
import { cluster } from './cluster.ts';
import { commands } from './commands.ts';
import { connections } from './connections.ts';
import { flood } from './flood.ts';
import { idle } from './idle.ts';
import { memory } from './memory.ts';
import { policies } from './policies.ts';
import { posting } from './posting.ts';
import { rest } from './rest.ts';
import { routes } from './routes.ts';
import { scaling } from './scaling.ts';
import { serving } from './serving.ts';
import { sluicefile } from './sluicefile.ts';
import { startUp } from './start-up.ts';
import { tail, tlsTail } from './tail.ts';
import { traces } from './traces.ts';
import { websockets } from './websockets.ts';
import { cached, connecting, handshakes, http2, http2Large, http2Wide, keepalive, large, tls } from './wire.ts';

export const BENCHMARKS = {
  keepalive,
  tls,
  http2,
  http2Wide,
  connecting,
  handshakes,
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
