import type Docker from 'dockerode';
import type { Container, ContainerCreateOptions } from 'dockerode';
import { APPS } from './engine.ts';
import { IMAGE } from './image/image.ts';

export const PORT = 80;

type Options = {
  /** The name of the app; several containers may belong to one app. */
  readonly app: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Polls /health. */
  readonly healthcheck?: { readonly intervalMs: number; readonly retries?: number };
  readonly network?: string;
  /** A fixed address in that network, instead of one that the engine chooses. */
  readonly address?: string;
  readonly name?: string;
  /** Uses busybox's file server instead of the Node app, because it starts immediately. */
  readonly light?: boolean;
  readonly publish?: number;
};

/** A test container, created and removed by its id. */
export class App {
  readonly name: string;
  readonly container: Container;

  private constructor(name: string, container: Container) {
    this.name = name;
    this.container = container;
  }

  get id(): string {
    return this.container.id;
  }

  /** Its host name in the engine, and its name in responses. */
  get shortId(): string {
    return this.id.slice(0, 12);
  }

  static async create(docker: Docker, options: Options): Promise<App> {
    return new App(options.app, await docker.createContainer(creation(options)));
  }

  static async start(docker: Docker, options: Options): Promise<App> {
    const app = await App.create(docker, options);
    await app.start();
    return app;
  }

  async start(): Promise<void> {
    await this.container.start();
  }

  /** Sends TERM, and KILL if it still runs after `seconds`. */
  async stop(seconds = 5): Promise<void> {
    await this.container.stop({ t: seconds });
  }

  async kill(signal: string): Promise<void> {
    await this.container.kill({ signal });
  }

  async remove(): Promise<void> {
    await this.container.remove({ force: true, v: true });
  }

  async address(network = APPS): Promise<string> {
    const { NetworkSettings } = await this.container.inspect();
    return NetworkSettings.Networks[network]?.IPAddress ?? '';
  }
}

function creation({ app, labels, env = {}, healthcheck, network = APPS, address, name, light, publish }: Options): ContainerCreateOptions {
  const port = `${PORT}/tcp`;
  const page = `echo ${app} $HOSTNAME > /www/index.html; exec httpd -f -p ${PORT} -h /www`;
  const check = ['CMD', 'wget', '-q', '-O', '/dev/null', `http://127.0.0.1:${PORT}/health`];
  return {
    Image: IMAGE,
    ...(name !== undefined && { name }),
    ...(light && { Cmd: ['sh', '-c', page] }),
    Env: Object.entries({ APP: app, ...env }).map(([key, value]) => `${key}=${value}`),
    Labels: { ...labels },
    ...(healthcheck && {
      // Only its exit code decides: on a busy machine the engine takes seconds to start a command in a container.
      Healthcheck: { Test: check, Interval: healthcheck.intervalMs * 1e6, Timeout: 60e9, Retries: healthcheck.retries ?? 1 },
    }),
    HostConfig: {
      NetworkMode: network,
      ...(publish !== undefined && { PortBindings: { [port]: [{ HostIp: '127.0.0.1', HostPort: `${publish}` }] } }),
    },
    ...(address !== undefined && { NetworkingConfig: { EndpointsConfig: { [network]: { IPAMConfig: { IPv4Address: address } } } } }),
  };
}
