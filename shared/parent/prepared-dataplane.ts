import { AWAITS_START_VARIABLE } from '../runtime/process/supervised.ts';
import type { Child, ChildEvents, Launch } from './child.ts';

/**
 * A data plane that loads its code while its flags are still being planned. It reads no setting and opens nothing before it is told to
 * start.
 */
export class PreparedDataplane {
  private readonly start: (launch: Launch, events: ChildEvents) => Child;
  private readonly child: Child;
  private events: ChildEvents | null = null;
  private hasEnded = false;

  constructor(launcher: string, start: (launch: Launch, events: ChildEvents) => Child) {
    this.start = start;
    this.child = start(
      { launcher, argv: ['dataplane'], env: { [AWAITS_START_VARIABLE]: '1' } },
      {
        received: (message) => this.events?.received(message),
        ended: (code) => {
          this.hasEnded = true;
          this.events?.ended(code);
        },
      },
    );
  }

  /** Tells it to start as `launch` says. If it has ended in the meantime, for example by a signal, another one is started. */
  adopt(launch: Launch, events: ChildEvents): Child {
    if (this.hasEnded) return this.start(launch, events);
    this.events = events;
    const [, ...flags] = launch.argv;
    this.child.send({ kind: 'start', flags, env: launch.env ?? {} });
    return this.child;
  }

  /** Ends it: there is no plan. It has nothing to finish. */
  discard(): void {
    this.child.signal('SIGKILL');
  }
}
