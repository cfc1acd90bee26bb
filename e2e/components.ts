import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Programs of the system that tests need beside Node. As root on Debian they are installed before the suite runs;
 * elsewhere the tests that need one are skipped and name its package. With CI=true a missing one is a failure.
 */
export const COMPONENTS = {
  strace: { package: 'strace', purpose: 'killing the data plane at every step of a save' },
} as const;

export type Component = keyof typeof COMPONENTS;

/** undefined where the program is here; else the words for `skip`. @throws with CI=true when it is missing. */
export function missing(component: Component): string | undefined {
  if (isHere(component)) return undefined;
  const { package: name, purpose } = COMPONENTS[component];
  const reason = `needs the system package ${name} (${purpose})`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

function isHere(program: string): boolean {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return places.some((place) => {
    try {
      accessSync(join(place, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const POLICY = '/usr/sbin/policy-rc.d';

/** apt's own switch against starting services: a policy that answers 101, there only while we install. */
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

function installMissing(): void {
  const names = (Object.keys(COMPONENTS) as Component[]).filter((component) => !isHere(component));
  if (names.length === 0) return;
  const packages = names.map((name) => COMPONENTS[name].package);
  const debian = existsSync('/etc/debian_version') && readFileSync('/etc/os-release', 'utf8').includes('debian');
  if (process.getuid?.() === 0 && debian) {
    process.stderr.write(`Installing system packages for the tests: ${packages.join(', ')}\n`);
    withoutServices(() => {
      apt('update', '-qq');
      apt('install', '-y', '-qq', '--no-install-recommends', ...packages);
    });
  }
  for (const name of names.filter((one) => !isHere(one)))
    process.stderr.write(`Not here: ${COMPONENTS[name].package}; its tests (${COMPONENTS[name].purpose}) are skipped.\n`);
  if (process.env.CI === 'true' && names.some((one) => !isHere(one))) process.exit(1);
}

if (import.meta.main) installMissing();
