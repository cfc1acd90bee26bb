import { isIP } from 'node:net';
import { createAdminClient } from '../../../shared/api/admin-client.ts';
import { NAME, TOKEN_VARIABLE } from '../../../shared/name.ts';
import { type Flag, UsageError } from '../../../shared/runtime/flags.ts';
import { portHolder } from '../../../shared/runtime/process/port-holder.ts';
import { splitAddress } from '../../../shared/values/address.ts';
import { isLoopback } from '../../../shared/values/loopback.ts';
import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import type { DataplaneStatus } from '../../../shared/wire/status.ts';
import { ADMIN_FLAGS, getJson, noArguments, placesOf, textOf } from '../command/admin-query.ts';
import { type Command, CommandError } from '../command/command.ts';
import { findAddress } from '../command/find-admin.ts';
import { type DashboardForwarder, type ForwarderOptions, startForwarder } from './forwarder.ts';
import { browserOpener, openBrowser } from './open-browser.ts';

type Listen = ForwarderOptions['listen'];
const ANY_PORT: Listen = { host: '127.0.0.1', port: 0 };

const LISTEN_FLAG: Flag = {
  name: 'dashboard-listen',
  placeholder: 'HOST:PORT',
  help: 'address to serve the dashboard at; it only answers requests to localhost or a loopback address',
  default: '127.0.0.1 and any free port',
  parse: parseListen,
};
const NO_OPEN_FLAG: Flag = { name: 'no-open', kind: 'switch', help: 'only print the address; do not open a browser' };

export const dashboard: Command = {
  usage: '[flags]',
  summary:
    'Serves the dashboard on a local port until it is interrupted, prints its address and opens it in a browser.\nThe address works once, in one browser. The dashboard only reads. Exits with 5 if the Admin API cannot be reached.',
  flags: [...ADMIN_FLAGS, LISTEN_FLAG, NO_OPEN_FLAG],
  run: async (flags, terminal) => {
    noArguments('dashboard', flags);
    const token = process.env[TOKEN_VARIABLE];
    const admin = await findAddress(placesOf(flags), token);
    const client = createAdminClient({ address: admin, token });
    await getJson<DataplaneStatus>(client, '/status', 'controllers');
    const page = await client.request('GET', '/dashboard/');
    if (page.status === 404)
      throw new CommandError(`the running data plane has no dashboard; ${NAME} upgrade replaces it with this version`);
    textOf(page);
    const listen = (flags.given.get(LISTEN_FLAG.name)?.value as Listen | undefined) ?? ANY_PORT;
    const forwarder = await start({ admin, token, listen });
    const ended = interrupted();
    terminal.out(`The dashboard is at ${forwarder.url}\nThe address works once, in one browser. Ctrl-C ends it.\n`);
    const program = browserOpener(process.platform, process.env);
    // Without a terminal, no one is using this machine directly.
    if (program !== null && terminal.columns !== null && flags.given.get(NO_OPEN_FLAG.name)?.value !== true)
      openBrowser(program, forwarder.url);
    await ended;
    await forwarder.close();
    return 0;
  },
};

/** Reads `ADDRESS:PORT`. Other addresses than these would be useless, since only requests to a loopback host are answered. */
function parseListen(text: string): Parsed<Listen> {
  const { host, port } = splitAddress(text);
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) return refused('write it as HOST:PORT; port 0 is any free port');
  if (!isLoopback(host) && !(isIP(host) !== 0 && /^[0.:]+$/.test(host)))
    return refused('the host is a loopback address, or 0.0.0.0 in a container that publishes the port');
  return accepted({ host, port: Number(port) });
}

async function start(options: ForwarderOptions): Promise<DashboardForwarder> {
  try {
    return await startForwarder(options);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const { host, port } = options.listen;
    if (code === 'EADDRINUSE')
      throw new UsageError(`${NAME} dashboard: port ${port} is in use by ${portHolder(port) ?? 'another program'}`);
    if (code === 'EADDRNOTAVAIL' || code === 'EACCES')
      throw new UsageError(`${NAME} dashboard: cannot listen on ${host}:${port} (${code})`);
    throw error;
  }
}

const interrupted = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
