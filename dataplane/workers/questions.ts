import type { FromWorker, ToWorker } from '../traffic/protocol.ts';
import type { Conditions } from './conditions.ts';
import type { WorkerHandle } from './worker-handle.ts';

/** How long a worker may take to answer (ms). */
export const ANSWER_MS = 500;

/** A message of a worker that answers a question. */
type Answer = Extract<FromWorker, { kind: 'report' | 'dry-run' }>;

/** Questions to workers and their answers. */
export class Questions {
  private readonly messages: Conditions;
  private readonly answers = new Map<number, Answer | null>();
  private nextId = 1;

  /** `messages` are checked again after each message of a worker, and after its end. */
  constructor(messages: Conditions) {
    this.messages = messages;
  }

  /** @returns null if the worker has `ended`, or does not answer within `ANSWER_MS`. */
  async ask(member: WorkerHandle, question: (id: number) => ToWorker, ended: () => boolean): Promise<Answer | null> {
    const id = this.nextId++;
    this.answers.set(id, null);
    member.post(question(id));
    const answer = (): Answer | null => this.answers.get(id) ?? null;
    await this.messages.until(() => answer() !== null || ended(), ANSWER_MS);
    const given = answer();
    this.answers.delete(id);
    return given;
  }

  answered(id: number, answer: Answer): void {
    if (this.answers.has(id)) this.answers.set(id, answer);
  }
}
