import { spawnSync } from 'node:child_process';
import { missing } from '../../components.ts';
import { Program } from '../../testing/process.ts';

/** The address of the data plane. The other address is also its own, but in no certificate. */
export const EDGE = '192.0.2.1';
export const UNCERTIFIED = '192.0.2.3';
const OFFICE = '192.0.2.2';

/** The text for `skip` if this machine can't create two namespaces. @throws with CI=true. */
export function noTwoMachines(): string | undefined {
  const lacking = missing('ip');
  if (lacking !== undefined) return lacking;
  if (process.getuid?.() === 0) return undefined;
  if (process.env.CI === 'true') throw new Error('needs root, which alone may make network namespaces');
  return 'needs root, which alone may make network namespaces';
}

type Machine = 'edge' | 'office';
let made = 0;

/** Two network namespaces that are connected only by a virtual link. */
export class TwoMachines {
  private readonly names: Readonly<Record<Machine, string>>;

  constructor() {
    const own = `${process.pid}-${made++}`;
    this.names = { edge: `sluice-edge-${own}`, office: `sluice-office-${own}` };
    const { edge, office } = this.names;
    try {
      ip('netns', 'add', edge);
      ip('netns', 'add', office);
      ip('-n', edge, 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'cable', 'netns', office);
      for (const address of [EDGE, UNCERTIFIED]) ip('-n', edge, 'address', 'add', `${address}/24`, 'dev', 'cable');
      ip('-n', office, 'address', 'add', `${OFFICE}/24`, 'dev', 'cable');
      for (const name of [edge, office]) for (const device of ['lo', 'cable']) ip('-n', name, 'link', 'set', device, 'up');
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** Starts a program on one of them. */
  start(machine: Machine, command: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
    return new Program('ip', ['netns', 'exec', this.names[machine], ...command], env);
  }

  [Symbol.dispose](): void {
    // A namespace that was never created need not be deleted.
    for (const name of Object.values(this.names)) spawnSync('ip', ['netns', 'delete', name]);
  }
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}
