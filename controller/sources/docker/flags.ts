import { NAME } from '../../../shared/name.ts';
import { type Flag, type Flags, UsageError } from '../../../shared/runtime/flags.ts';
import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import { DEFAULT_SOCKET, defaultEngineAddress, type EngineAddress, parseEngineAddress } from './engine/engine-address.ts';
import { ADDRESS_KINDS, type AddressKind } from './network/choose-address.ts';

export type DockerSettings = {
  readonly engine: EngineAddress;
  readonly addresses: AddressKind;
  /** The network to prefer if a container shares several with the data plane. */
  readonly network: string | null;
  /** Whether a data plane is on another machine, where loopback and bridges are not those of this machine. */
  readonly elsewhere: boolean;
};

export const DOCKER_FLAGS: readonly Flag[] = [
  {
    name: 'docker',
    kind: 'optional',
    placeholder: 'SOCKET',
    help: 'discover containers by their labels, through a socket or tcp://HOST:PORT',
    default: `off; without a value DOCKER_HOST, else ${DEFAULT_SOCKET} or the socket of Podman`,
    parse: parseEngineAddress,
  },
  {
    name: 'docker-address',
    placeholder: ADDRESS_KINDS.join('|'),
    help: 'which container address the data plane connects to',
    default: 'auto',
    parse: parseKind,
  },
  {
    name: 'docker-network',
    placeholder: 'NAME',
    help: 'preferred network for containers with several',
    default: 'the first by name that the data plane shares',
  },
];

/** @returns null if containers are not discovered. @throws UsageError. */
export function dockerSettings(command: string, { given }: Flags, elsewhere: boolean): DockerSettings | null {
  const wanted = (given.get('docker')?.value ?? false) as boolean | EngineAddress;
  if (wanted === false) {
    const useless = ['docker-address', 'docker-network'].find((name) => given.get(name)?.origin === 'flag');
    if (useless !== undefined) throw new UsageError(`${NAME} ${command}: --${useless} needs --docker`);
    return null;
  }
  const addresses = (given.get('docker-address')?.value as AddressKind | undefined) ?? 'auto';
  if (elsewhere && addresses === 'auto')
    throw new UsageError(
      `${NAME} ${command}: --docker for a data plane on another machine needs --docker-address: published for ports that are published on an address that it reaches, or container where it reaches the networks of the containers`,
    );
  return {
    engine: wanted === true ? whereItIs(command) : wanted,
    addresses,
    network: (given.get('docker-network')?.value as string | undefined) ?? null,
    elsewhere,
  };
}

function whereItIs(command: string): EngineAddress {
  const address = defaultEngineAddress();
  if (address.ok) return address.value;
  throw new UsageError(`${NAME} ${command}: --docker: ${address.reason}`);
}

function parseKind(text: string): Parsed<AddressKind> {
  const kind = ADDRESS_KINDS.find((one) => one === text);
  return kind ? accepted(kind) : refused(`one of ${ADDRESS_KINDS.join(', ')}`);
}
