import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Exit, Program, REPOSITORY } from '../../testing/process.ts';
import type { Engine } from './engine.ts';
import { IMAGE } from './image/image.ts';

const FOLDER = join(REPOSITORY, 'deploy/compose');

/** A compose project of the repository's unchanged files. */
export class Compose {
  private readonly engine: Engine;
  private readonly files: readonly string[];

  constructor(engine: Engine, ...files: string[]) {
    this.engine = engine;
    this.files = files;
  }

  /** @throws with its output if it fails. */
  async run(...args: string[]): Promise<string> {
    const { code, output } = await this.try(args);
    if (code !== 0) throw new Error(`docker-compose ${args.join(' ')} (${code}):\n${output}`);
    return output;
  }

  async try(args: readonly string[], env: Readonly<Record<string, string>> = this.environment()): Promise<Exit & { output: string }> {
    const files = this.files.flatMap((file) => ['--file', join(FOLDER, file)]);
    await using program = new Program('docker-compose', [...files, ...args], env);
    const exit = await program.exited;
    return { ...exit, output: program.output };
  }

  /** The id of a service's only container. */
  async idOf(service: string): Promise<string> {
    const [found] = await this.engine.docker.listContainers({ all: true, filters: { label: [`com.docker.compose.service=${service}`] } });
    if (found === undefined) throw new Error(`${service} has no container`);
    return found.Id;
  }

  /** The variables that a user of this engine exports, with our app instead of the examples' app. */
  environment(): Record<string, string> {
    const { socket } = this.engine;
    return { DOCKER_HOST: `unix://${socket}`, DOCKER_SOCKET: socket, DOCKER_GID: `${statSync(socket).gid}`, APP_IMAGE: IMAGE };
  }
}
