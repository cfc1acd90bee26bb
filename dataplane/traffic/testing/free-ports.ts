import { type AddressInfo, createServer } from 'node:net';

/** Test support: ports that are not in use right now. */
export async function freePorts<const Count extends number>(count: Count): Promise<Ports<Count>> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports as Ports<Count>;
}

type Ports<Count extends number> = Count extends 1
  ? [number]
  : Count extends 2
    ? [number, number]
    : Count extends 3
      ? [number, number, number]
      : [number, number, number, number];
