import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { ApiServer } from '../api-server.ts';
import type { WatchedObjects } from '../watched-objects.ts';
import { fieldOf, type Pod, type Projection, type VolumeSpec } from './pod.ts';

type Files = ReadonlyMap<string, string>;
export type ConfigMap = {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly data?: Readonly<Record<string, string>>;
};

type Options = {
  readonly cluster: ApiServer;
  readonly configMaps: WatchedObjects<ConfigMap>;
  readonly pod: Pod;
  readonly address: string;
  /** They are created here. */
  readonly folder: string;
};

/**
 * The volumes of a pod as folders. Those with content are written as the kubelet does: a new folder, to which the link `..data` is turned.
 */
export class Volumes {
  private readonly cluster: ApiServer;
  private readonly configMaps: WatchedObjects<ConfigMap>;
  private readonly pod: Pod;
  private readonly address: string;
  private readonly folder: string;
  private version = 0;
  private token: { readonly text: string; readonly until: number } | undefined;

  constructor({ cluster, configMaps, pod, address, folder }: Options) {
    this.cluster = cluster;
    this.configMaps = configMaps;
    this.pod = pod;
    this.address = address;
    this.folder = folder;
  }

  pathOf(volume: string): string {
    return join(this.folder, volume);
  }

  /** Creates all of them. @throws if a ConfigMap does not exist, as a pod then waits. */
  async create(): Promise<void> {
    for (const volume of this.pod.spec.volumes ?? []) {
      const path = this.pathOf(volume.name);
      mkdirSync(path, { recursive: true });
      const { fsGroup } = this.pod.spec.securityContext ?? {};
      if (fsGroup !== undefined) chownSync(path, 0, fsGroup);
      chmodSync(path, fsGroup === undefined ? 0o777 : 0o2775);
    }
    await this.refresh();
  }

  /** Writes the changed ones again. */
  async refresh(): Promise<void> {
    for (const volume of this.pod.spec.volumes ?? []) {
      const files = await this.contentOf(volume);
      if (files !== null) this.write(this.pathOf(volume.name), files);
    }
  }

  private async contentOf({ configMap, projected }: VolumeSpec): Promise<Files | null> {
    if (configMap) return await this.projected([{ configMap }]);
    return projected ? await this.projected(projected.sources) : null;
  }

  private async projected(sources: readonly Projection[]): Promise<Files> {
    const files = new Map<string, string>();
    for (const { serviceAccountToken, configMap, downwardAPI } of sources) {
      if (serviceAccountToken) files.set(serviceAccountToken.path, await this.accountToken(serviceAccountToken.expirationSeconds ?? 3_600));
      for (const { path, fieldRef } of downwardAPI?.items ?? []) files.set(path, fieldOf(this.pod, this.address, fieldRef.fieldPath));
      if (configMap === undefined) continue;
      const { data = {} } = await this.configMap(configMap.name);
      const items = configMap.items ?? Object.keys(data).map((key) => ({ key, path: key }));
      for (const { key, path: file } of items) {
        const text = data[key];
        if (text === undefined) throw new Error(`the ConfigMap ${configMap.name} has no ${key}`);
        files.set(file, text);
      }
    }
    return files;
  }

  /** One that was created a moment ago may not be watched yet. */
  private async configMap(name: string): Promise<ConfigMap> {
    const { namespace } = this.pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    return this.configMaps.get(namespace, name) ?? (await this.cluster.api<ConfigMap>('GET', path));
  }

  /** Requested again when four fifths of its time have passed. */
  private async accountToken(expirationSeconds: number): Promise<string> {
    if (this.token !== undefined && Date.now() < this.token.until) return this.token.text;
    const { namespace } = this.pod.metadata;
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } };
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${this.pod.spec.serviceAccountName ?? 'default'}/token`;
    const { status } = await this.cluster.api<{ readonly status: { readonly token: string } }>('POST', path, request);
    this.token = { text: status.token, until: Date.now() + expirationSeconds * 800 };
    return status.token;
  }

  private write(volume: string, files: Files): void {
    const link = join(volume, '..data');
    const isSame = existsSync(link) && [...files].every(([name, text]) => readOrNull(join(link, name)) === text);
    if (isSame && readdirSync(link).length === files.size) return;
    const version = `..version_${this.version++}`;
    for (const [name, text] of files) {
      mkdirSync(dirname(join(volume, version, name)), { recursive: true });
      writeFileSync(join(volume, version, name), text, { mode: 0o644 });
      if (!existsSync(join(volume, name))) symlinkSync(join('..data', name), join(volume, name));
    }
    const old = existsSync(link) ? readdirSync(volume).filter((name) => name.startsWith('..version_') && name !== version) : [];
    symlinkSync(version, `${link}_new`);
    renameSync(`${link}_new`, link);
    for (const name of old) rmSync(join(volume, name), { recursive: true });
  }
}

function readOrNull(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}
