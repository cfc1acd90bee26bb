import { NO_PARENT, onParentMessage, sendToParent, type ToParent } from '../../../shared/runtime/parent.ts';
import { whenOrphaned } from '../../../shared/runtime/supervised.ts';
import type { Supervised } from './supervisor.ts';

/** Data plane and controller under one supervisor, from their start to their exit. */
export class Couple {
  private readonly dataplane: Supervised;
  private readonly controller: Supervised;
  private stops = 0;
  private handedOver = false;
  private serving: () => void = () => undefined;

  constructor(dataplane: (heard: (message: ToParent) => void) => Supervised, controller: Supervised) {
    this.dataplane = dataplane((message) => this.hear(message));
    this.controller = controller;
  }

  /**
   * With `takeover` the controller starts after the data plane has taken over. @returns the exit code of a process whose first start
   * failed.
   */
  async run(takeover: boolean): Promise<number> {
    const stop = () => this.stop();
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    process.on('SIGHUP', () => this.controller.signal('SIGHUP'));
    process.on('SIGUSR2', () => this.dataplane.signal('SIGUSR2'));
    whenOrphaned(stop);
    onParentMessage((outcome) => this.dataplane.send(outcome));
    const serving = new Promise<void>((resolve) => {
      this.serving = resolve;
    });
    const dataplane = this.whole(this.dataplane).finally(() => this.dataplaneLeaves());
    if (takeover) await Promise.race([serving, dataplane]);
    const codes = await Promise.all([dataplane, this.whole(this.controller)]);
    return Math.max(...codes, this.stops > 1 && !this.handedOver ? 1 : 0);
  }

  /** If one fails to start, the other is stopped too. */
  private async whole(child: Supervised): Promise<number> {
    const code = await child.run();
    if (code !== 0 && this.stops === 0) this.stop();
    return code;
  }

  /** The first TERM or INT drains both, a second one ends them at once. The controller goes on as long as the data plane still serves. */
  private stop(): void {
    this.stops += 1;
    if (this.stops === 1) return this.dataplane.stop();
    for (const child of [this.dataplane, this.controller]) child.signal('SIGKILL');
  }

  /** The data plane drains, or has exited. */
  private dataplaneLeaves(): void {
    if (this.stops > 0) this.controller.stop();
  }

  private hear(message: ToParent): void {
    if (message.kind === 'handed-over') {
      this.handedOver = true;
      this.dataplane.retire();
      this.controller.stop();
    }
    if (message.kind === 'serving') this.serving();
    if (message.kind === 'draining') return this.dataplaneLeaves();
    if (message.kind === 'upgrade' && !process.connected) this.dataplane.send(NO_PARENT);
    else sendToParent(message);
  }
}
