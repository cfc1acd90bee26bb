import { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** What is used of a thread. */
export type Thread = Pick<Worker, 'getHeapStatistics' | 'performance' | 'postMessage' | 'terminate' | 'unref'> & EventEmitter;

/**
 * Starts a thread. If the system permits no more threads, the library throws an error instead of reporting it as others that end a thread;
 * here it is an `error` event, too, and then the thread has ended.
 */
export function startThread(entry: URL, options: WorkerOptions): Thread {
  try {
    return new Worker(entry, options);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_INIT_FAILED')) throw error;
    return new UnstartedThread(error);
  }
}

/** A thread that has ended before its first statement. */
class UnstartedThread extends EventEmitter implements Thread {
  readonly performance = performance;

  constructor(error: Error) {
    super();
    setImmediate(() => {
      this.emit('error', error);
      this.emit('exit', 1);
    });
  }

  getHeapStatistics(): Promise<never> {
    return Promise.reject(new Error('the thread has ended'));
  }

  postMessage(): void {
    // As for every thread that has ended.
  }

  terminate(): Promise<number> {
    return Promise.resolve(1);
  }

  unref(): void {
    // It keeps nothing alive.
  }
}
