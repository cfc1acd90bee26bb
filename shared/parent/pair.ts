import type { RunPlan, ToParent, UpgradeOutcome } from '../runtime/process/parent.ts';
import { RESTARTED_VARIABLE } from '../runtime/process/supervised.ts';
import type { Child, ChildEvents, Launch } from './child.ts';
import { PreparedDataplane } from './prepared-dataplane.ts';
import { Supervised, type SupervisedTools } from './supervised.ts';

/** How long another start may take to be planned (ms): the config file may be on a file system that does not answer. */
const PLAN_MS = 10_000;

/** How long the controller may take to exit (ms): it serves nobody, and may wait for a file or an engine that does not answer. */
const CONTROLLER_STOP_MS = 5_000;

/** How long planning here may take when it is told to stop (ms). */
const PLAN_STOP_MS = 1_000;

/** Plans how both processes are started. @returns null if it starts none, as for `--help`; rejects if there is no plan. */
export type Planner = (argv: readonly string[]) => Promise<RunPlan | null>;

export type PairOptions = {
  /**
   * Given if the launcher starts the version that runs here. Only then it can be planned here, and the data plane can load its code before
   * it has its flags: one of an older version would start without any.
   */
  readonly ownPlanner: Planner | null;
  /** Whether there is one core for both processes. */
  readonly hasOneCore: boolean;
};

/**
 * The two processes of `run`, as one child of the parent: data plane and controller, each of which may crash and is restarted while the
 * other goes on. The installed version plans how they are started: the launcher runs `run`, which reads the flags and the config file,
 * sends a plan and ends. Nothing here therefore depends on the version. Only the first start is planned here, by the same version.
 */
export class Pair implements Child {
  private readonly launch: Launch;
  private readonly events: ChildEvents;
  private readonly tools: SupervisedTools;
  private readonly hasOneCore: boolean;
  private readonly ownPlanner: Planner | null;
  /** Loads its code while its start is planned. */
  private prepared: PreparedDataplane | null = null;
  private planner: Child | null = null;
  private dataplane: Supervised | null = null;
  private controller: Supervised | null = null;
  private stops = 0;
  /** Resolves when there is no use in planning any more. */
  private readonly unwanted = Promise.withResolvers<null>();
  private handedOver = false;
  private serving: () => void = () => undefined;
  lastWords = '';

  constructor(launch: Launch, events: ChildEvents, tools: SupervisedTools, { ownPlanner, hasOneCore }: PairOptions) {
    this.launch = launch;
    this.events = events;
    this.tools = tools;
    this.hasOneCore = hasOneCore;
    this.ownPlanner = ownPlanner;
    if (ownPlanner !== null) this.prepared = new PreparedDataplane(launch.launcher, tools.start);
    void this.run().then((code) => events.ended(code));
  }

  /** The data plane's process id, since it is the process that upgrades replace. */
  get pid(): number {
    return this.dataplane?.pid ?? 0;
  }

  send(outcome: UpgradeOutcome): void {
    this.dataplane?.send(outcome);
    if (outcome.kind === 'upgraded') this.replaced();
  }

  /** Another pair serves. If our data plane died before it handed over, it must not be started again, and take over from that one. */
  private replaced(): void {
    this.handedOver = true;
    this.dataplane?.replaced();
    this.controller?.stop();
  }

  /**
   * The first TERM drains both, a second one ends them at once. The controller goes on as long as the data plane still serves. Only the
   * controller reads the config file (HUP), and only the data plane has files to reopen (USR2).
   */
  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGHUP') return this.controller?.signalReady(signal);
    if (signal === 'SIGUSR2') return this.dataplane?.signalReady(signal);
    if (signal === 'SIGKILL') return this.kill();
    this.stops += 1;
    if (this.stops > 1) return this.kill();
    this.tools.clock.after(PLAN_STOP_MS, () => this.unwanted.resolve(null));
    this.planner?.signal(signal);
    this.dataplane?.stop();
  }

  private kill(): void {
    this.unwanted.resolve(null);
    this.stops = Math.max(this.stops, 2);
    // Otherwise their end would look like a crash.
    for (const one of [this.dataplane, this.controller]) one?.retire();
    for (const one of [this.planner, this.dataplane, this.controller]) one?.signal('SIGKILL');
  }

  /** @returns the exit code of the process that failed at its first start, else 0. */
  private async run(): Promise<number> {
    const first = await (this.ownPlanner === null ? this.plan() : this.planHere(this.ownPlanner));
    if (typeof first === 'number' || this.stops > 0) {
      this.prepared?.discard();
      return typeof first === 'number' ? first : 0;
    }
    const { launcher } = this.launch;
    let flags = first.dataplane;
    let env = { ...this.launch.env, ...first.env };
    const dataplane = new Supervised(
      {
        name: 'dataplane',
        launch: () => ({ launcher, argv: ['dataplane', ...flags], env }),
        prepare: async () => {
          const plan = await this.planAgain();
          // Variables that a plan leaves out are still valid: a config file with errors has no globals.
          if (plan !== null) [flags, env] = [plan.dataplane, { ...env, ...plan.env }];
          env = { ...env, [RESTARTED_VARIABLE]: '1' };
        },
        mustServe: true,
        received: (message) => this.receive(message),
      },
      { ...this.tools, start: (launch, events) => this.startDataplane(launch, events) },
    );
    const controller = new Supervised(
      {
        name: 'controller',
        launch: () => ({ launcher, argv: ['controller', ...first.controller] }),
        // The process being replaced may still hold its port for a moment.
        persistent: first.takeover,
        stopMs: CONTROLLER_STOP_MS,
      },
      this.tools,
    );
    this.dataplane = dataplane;
    this.controller = controller;
    return this.both(dataplane, controller, first.takeover);
  }

  private startDataplane(launch: Launch, events: ChildEvents): Child {
    const { prepared } = this;
    this.prepared = null;
    return prepared?.adopt(launch, events) ?? this.tools.start(launch, events);
  }

  /**
   * With `takeover` the controller starts after the data plane has taken over. On one core it starts when the saved routes are served:
   * otherwise it would take half of the core from the process that visitors wait for.
   */
  private async both(dataplane: Supervised, controller: Supervised, takeover: boolean): Promise<number> {
    const serving = new Promise<void>((resolve) => {
      this.serving = resolve;
    });
    const first = this.whole(dataplane).finally(() => this.dataplaneLeaves());
    if (takeover || this.hasOneCore) await Promise.race([serving, first]);
    const codes = await Promise.all([first, this.whole(controller)]);
    return Math.max(...codes, this.stops > 1 && !this.handedOver ? 1 : 0);
  }

  /** If one fails to start, the other is stopped too. */
  private async whole(one: Supervised): Promise<number> {
    const code = await one.run();
    if (code !== 0 && this.stops === 0) {
      this.lastWords = one.lastWords;
      this.signal('SIGTERM');
    }
    return code;
  }

  /** The data plane drains, or has exited. */
  private dataplaneLeaves(): void {
    if (this.stops > 0) this.controller?.stop();
  }

  private receive(message: ToParent): void {
    if (message.kind === 'handed-over') {
      this.handedOver = true;
      this.dataplane?.retire();
      this.controller?.stop();
    }
    if (message.kind === 'serving') this.serving();
    if (message.kind === 'draining') this.dataplaneLeaves();
    this.events.received(message);
  }

  /** Without a plan, a process plans: it reports what is wrong, or prints the help. */
  private async planHere(planner: Planner): Promise<RunPlan | number> {
    const [, ...flags] = this.launch.argv;
    const plan = await Promise.race([planner(flags).catch(() => null), this.unwanted.promise]);
    return plan ?? (this.stops > 0 ? 0 : this.plan());
  }

  /** Plans another start, in limited time. @returns null if there is no new plan. */
  private async planAgain(): Promise<RunPlan | null> {
    const overdue = Promise.withResolvers<null>();
    const cancel = this.tools.clock.after(PLAN_MS, () => {
      this.tools.report({ within: PLAN_MS }, 'the restart could not be planned in time: the data plane is started as before');
      this.planner?.signal('SIGKILL');
      overdue.resolve(null);
    });
    const plan = await Promise.race([this.plan(), overdue.promise]);
    cancel();
    return typeof plan === 'object' ? plan : null;
  }

  /** @returns the plan, or the exit code of the planner if it has none: 0 after `--help`. */
  private plan(): Promise<RunPlan | number> {
    return new Promise((resolve) => {
      const planner = this.tools.start(this.launch, {
        received: (message) => {
          if (message.kind === 'plan') resolve(message.plan);
          else this.events.received(message);
        },
        ended: (code) => {
          if (this.planner === planner) this.planner = null;
          this.lastWords = planner.lastWords;
          resolve(code);
        },
      });
      this.planner = planner;
    });
  }
}
