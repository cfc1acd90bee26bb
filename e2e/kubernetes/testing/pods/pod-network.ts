import { execFile } from 'node:child_process';
import { readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { until } from '../../../../shared/runtime/testing/until.ts';
import { Program } from '../../../testing/process.ts';

const run = promisify(execFile);
const BRIDGE = 'pods';
const GATEWAY = '10.78.0.1';

let bridge: Promise<void> | undefined;

/** Once in the network of a test file. */
async function createBridge(): Promise<void> {
  await batch([], [`link add ${BRIDGE} type bridge`, `addr add ${GATEWAY}/16 dev ${BRIDGE}`, `link set ${BRIDGE} up`]);
}

/** Commands of `ip` in one process: each pod would otherwise start nine. @param place the program that takes it to another network */
async function batch(place: readonly string[], commands: readonly string[]): Promise<void> {
  const [program = '', ...args] = [...place, 'ip', '-batch', '-'];
  const running = run(program, args);
  running.child.stdin?.end(`${commands.join('\n')}\n`);
  await running;
}

/** The network of one pod, in which loopback and every port are its own. From it the pods of the tests and the API server are reachable. */
export class PodNetwork {
  readonly address: string;
  private readonly pause: Program;

  private constructor(pause: Program, address: string) {
    this.pause = pause;
    this.address = address;
  }

  /** `number`, from 2 on, is unique among the pods of the test file. */
  static async create(number: number): Promise<PodNetwork> {
    bridge ??= createBridge();
    await bridge;
    // As in a cluster, a process that does nothing keeps the network.
    const pause = new Program('unshare', ['--net', 'sleep', 'infinity']);
    const own = await networkOf(process.pid);
    await until('the network of the pod', async () => (await networkOf(pause.pid)) !== own);
    const network = new PodNetwork(pause, `10.78.${number >> 8}.${number & 255}`);
    const link = `pod${number}`;
    await batch([], [`link add ${link} type veth peer name eth0 netns ${pause.pid}`, `link set ${link} master ${BRIDGE} up`]);
    await batch(
      ['nsenter', `--net=${network.path}`],
      ['link set lo up', `addr add ${network.address}/16 dev eth0`, 'link set eth0 up', `route add default via ${GATEWAY}`],
    );
    return network;
  }

  /** For nsenter. */
  get path(): string {
    return `/proc/${this.pause.pid}/ns/net`;
  }

  async remove(): Promise<void> {
    await this.pause.kill('SIGKILL');
  }
}

function networkOf(pid: number): Promise<string> {
  return readlink(`/proc/${pid}/ns/net`);
}
