import type { Worker } from 'node:worker_threads';
import type { ListeningSocket } from '../traffic/protocol.ts';

/** A worker thread, as its pool sees it. */
export type WorkerHandle = {
  readonly id: number;
  readonly slot: number;
  readonly thread: Worker;
  readonly startedAt: number;
  serving: boolean;
  /** The latest generation that it serves. */
  generation: number;
  /** The latest purge of the cache that it has carried out. */
  purged: number;
  /** It was replaced: it accepts no connections and ends after its last one. */
  leaving: boolean;
  /** It replaces another worker and is not counted yet. */
  successor: boolean;
  /** Its listening sockets, as far as it has reported them. */
  listeners: readonly ListeningSocket[];
  /** Its successor is starting. */
  replacing: boolean;
  /** It could not open its port. */
  refusal: ListenError | null;
  /** It could not move to another port, and still listens on the old one. */
  unmoved: ListenError | null;
  /** Why it is being terminated; empty otherwise. */
  ending: string;
};

/** A worker can't open its port. Restarting it does not help; the configuration must change. */
export class ListenError extends Error {
  readonly code: string;
  /** null if it is not known which one. */
  readonly port: number | null;
  constructor(code: string, message: string, port: number | null = null) {
    super(message);
    this.code = code;
    this.port = port;
  }
}
