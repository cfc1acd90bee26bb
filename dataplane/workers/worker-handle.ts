import type { Thread } from '../../shared/runtime/start-thread.ts';
import type { FromWorker, ListeningSocket, ToWorker } from '../traffic/protocol.ts';

/** A worker thread, as its pool sees it. */
export class WorkerHandle {
  readonly id: number;
  readonly slot: number;
  readonly thread: Thread;
  readonly startedAt: number;
  serving = false;
  /** The latest generation that it serves. */
  generation: number;
  /** The latest purge of the cache that it has carried out. */
  purged = 0;
  /** It was replaced: it accepts no connections and ends after its last one. */
  leaving = false;
  /** It replaces another worker and is not counted yet. */
  successor: boolean;
  /** Its listening sockets, as far as it has reported them. */
  listeners: readonly ListeningSocket[] = [];
  /** Its successor is starting. */
  replacing = false;
  /** It could not open its port. */
  refusal: ListenError | null = null;
  /** It could not move to another port, and still listens on the old one. */
  unmoved: ListenError | null = null;
  /** Why it is being terminated; empty otherwise. */
  ending = '';

  constructor(thread: Thread, facts: Readonly<Pick<WorkerHandle, 'id' | 'slot' | 'startedAt' | 'generation' | 'successor'>>) {
    this.thread = thread;
    this.id = facts.id;
    this.slot = facts.slot;
    this.startedAt = facts.startedAt;
    this.generation = facts.generation;
    this.successor = facts.successor;
  }

  /** Does nothing if it is being terminated. */
  post(message: ToWorker): void {
    if (this.ending === '') this.thread.postMessage(message);
  }

  terminate(reason: string): void {
    this.ending = reason;
    void this.thread.terminate();
  }

  /** Notes what a message says about its own state. */
  note(message: FromWorker): void {
    switch (message.kind) {
      case 'serving':
        this.serving = true;
        this.listeners = message.listeners;
        this.generation = Math.max(this.generation, message.generation);
        break;
      case 'acknowledged':
        if (message.refused !== undefined) this.unmoved = message.refused && new ListenError(message.refused.code, message.refused.message);
        this.listeners = message.listeners ?? this.listeners;
        this.generation = Math.max(this.generation, message.generation);
        break;
      case 'cache':
        if (message.message.kind === 'purged') this.purged = Math.max(this.purged, message.message.purged);
        break;
      case 'drained':
        this.terminate('drained');
        break;
      case 'refused':
        this.refusal = new ListenError(message.code, message.message, message.port);
        this.terminate(message.message);
    }
  }
}

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
