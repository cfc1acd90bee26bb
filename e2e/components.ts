import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A module of nginx, as Debian places it. */
export const NGINX_STREAM = '/usr/lib/nginx/modules/ngx_stream_module.so';

type Use = 'tests' | 'benchmarks';
/** `file`: a file that shows that it is installed, if it has no program of its name. */
type Part = { readonly package: string; readonly purpose: string; readonly for: Use | 'both'; readonly file?: string };

/**
 * System programs that tests need besides Node. As root on Debian they are installed before the suite runs. Elsewhere
 * the tests that need one are skipped and name its package. With CI=true a missing program is a failure.
 */
export const COMPONENTS = {
  strace: { package: 'strace', purpose: 'killing the data plane at every step of a save', for: 'tests' },
  curl: { package: 'curl', purpose: 'the examples in the documentation and the demo', for: 'tests' },
  jq: { package: 'jq', purpose: 'the examples in the documentation', for: 'tests' },
  prlimit: { package: 'util-linux', purpose: 'using up the file descriptors of a process', for: 'tests' },
  ip: { package: 'iproute2', purpose: 'two machines with a network between them', for: 'tests' },
  openssl: { package: 'openssl', purpose: 'the documented certificate authority', for: 'tests' },
  nginx: { package: 'nginx-light', purpose: 'a proxy to compare with, and one in front of ours', for: 'both' },
  nginxStream: { package: 'libnginx-mod-stream', purpose: 'nginx sending the PROXY protocol', for: 'tests', file: NGINX_STREAM },
  haproxy: { package: 'haproxy', purpose: 'a second proxy to compare with, and one in front of ours', for: 'both' },
  caddy: { package: 'caddy', purpose: 'a third proxy to compare with', for: 'benchmarks' },
  dockerd: { package: 'docker.io', purpose: 'a real container engine', for: 'tests' },
  'docker-compose': { package: 'docker-compose', purpose: 'the compose files', for: 'tests' },
  busybox: { package: 'busybox-static', purpose: 'the programs in the test containers', for: 'tests' },
  pebble: { package: 'pebble', purpose: 'a real certificate authority', for: 'tests' },
  named: { package: 'bind9', purpose: 'a real DNS server that accepts updates', for: 'tests' },
  certutil: { package: 'libnss3-tools', purpose: 'the trusted roots of a real browser', for: 'tests' },
  chromium: { package: 'chromium', purpose: 'a real browser', for: 'tests' },
  goaccess: { package: 'goaccess', purpose: 'a real reader of the access log', for: 'tests' },
  prometheus: { package: 'prometheus', purpose: 'a real reader of the metrics', for: 'tests' },
  promtool: { package: 'prometheus', purpose: 'the tests of the alert rules', for: 'tests' },
  perl: { package: 'perl-base', purpose: 'receiving notifications to a service manager', for: 'tests' },
  'systemd-notify': { package: 'systemd', purpose: 'notifying a service manager', for: 'tests' },
  'systemd-analyze': { package: 'systemd', purpose: 'checking the systemd units', for: 'tests' },
  h2load: { package: 'nghttp2-client', purpose: 'load over HTTP/2', for: 'both' },
  nghttp: { package: 'nghttp2-client', purpose: 'another client for HTTP/2', for: 'tests' },
  wrk: { package: 'wrk', purpose: 'the load of the benchmarks', for: 'benchmarks' },
} as const satisfies Readonly<Record<string, Part>>;

export type Component = keyof typeof COMPONENTS;
const part = (name: Component): Part => COMPONENTS[name];
const namesFor = (use: Use): Component[] =>
  (Object.keys(COMPONENTS) as Component[]).filter((name) => [use, 'both'].includes(part(name).for));

/** undefined if the program is installed, otherwise the text for `skip`. @throws with CI=true if it is missing. */
export function missing(component: Component): string | undefined {
  if (isHere(component)) return undefined;
  const { package: name, purpose } = COMPONENTS[component];
  const reason = `needs the system package ${name} (${purpose})`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

function isHere(component: Component): boolean {
  const { file } = part(component);
  if (file !== undefined) return existsSync(file);
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return places.some((place) => {
    try {
      accessSync(join(place, component), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const POLICY = '/usr/sbin/policy-rc.d';

/** Keeps apt from starting services: a policy that exits with 101, which exists only during the installation. */
function withoutServices(task: () => void): void {
  const ours = !existsSync(POLICY);
  if (ours) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    task();
  } finally {
    if (ours) rmSync(POLICY);
  }
}

function apt(...args: string[]): void {
  const { status } = spawnSync('apt-get', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (status !== 0) process.stderr.write(`apt-get ${args.join(' ')} failed (${status}).\n`);
}

function install(wanted: readonly Component[]): void {
  const names = wanted.filter((component) => !isHere(component));
  if (names.length === 0) return;
  const packages = names.map((name) => COMPONENTS[name].package);
  const debian = existsSync('/etc/debian_version') && readFileSync('/etc/os-release', 'utf8').includes('debian');
  if (process.getuid?.() !== 0 || !debian) return;
  process.stderr.write(`Installing system packages: ${packages.join(', ')}\n`);
  withoutServices(() => {
    apt('update', '-qq');
    apt('install', '-y', '-qq', '--no-install-recommends', ...packages);
  });
}

/** The programs that benchmarks require; other proxies are measured if they are installed. */
const NEEDED_BY_BENCHMARKS: readonly Component[] = ['nginx', 'wrk', 'h2load'];

/** The programs of the benchmarks. @throws with the needed packages that could not be installed. */
export function installForBenchmarks(): void {
  install(namesFor('benchmarks'));
  const lacking = NEEDED_BY_BENCHMARKS.filter((name) => !isHere(name));
  if (lacking.length > 0) throw new Error(`the benchmarks need: ${lacking.map((name) => COMPONENTS[name].package).join(', ')}`);
}

function installForTests(): void {
  install(namesFor('tests'));
  const lacking = namesFor('tests').filter((name) => !isHere(name));
  for (const name of lacking)
    process.stderr.write(`Not here: ${COMPONENTS[name].package}; its tests (${COMPONENTS[name].purpose}) are skipped.\n`);
  if (process.env.CI === 'true' && lacking.length > 0) process.exit(1);
}

if (import.meta.main) installForTests();
