import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { Folder } from '../../testing/dataplane.ts';
import { ask } from '../../testing/http.ts';
import { Program, REPOSITORY } from '../../testing/process.ts';
import { assetPath, COMMAND } from '../testing/assets.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';

const skip = clusterNetwork();

/** The shell lines and manifests of docs/kubernetes.md in their order, by section. */
type Step = { readonly section: string; readonly kind: 'sh' | 'yaml'; readonly text: string };

function stepsOf(page: string): Step[] {
  return page.split(/\n## /).flatMap((part) => {
    const [section = ''] = part.split('\n', 1);
    return [...part.matchAll(/^( *)```(sh|yaml)\n([\s\S]*?)^ *```/gm)].flatMap(([, indent = '', kind, block = '']): Step[] => {
      const text = block.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
      if (kind === 'yaml') return [{ section, kind: 'yaml', text }];
      return text.split('\n').flatMap((line) => (line === '' ? [] : [{ section, kind: 'sh' as const, text: line }]));
    });
  });
}

const steps = stepsOf(readFileSync(join(REPOSITORY, 'docs/kubernetes.md'), 'utf8'));

/** Kinds that the test cluster lacks: the guide's manifests for cert-manager are only parsed. */
const ISSUERS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'clusterissuers.cert-manager.io' },
  spec: {
    group: 'cert-manager.io',
    names: { kind: 'ClusterIssuer', plural: 'clusterissuers' },
    scope: 'Cluster',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

let cluster: Cluster;
let folder: Folder;
before(async () => {
  if (skip !== undefined) return;
  cluster = await joinCluster();
  folder = new Folder();
  symlinkSync(join(REPOSITORY, 'deploy'), folder.file('deploy'));
  const authority = new CertificatesFixture();
  const { cert, key } = authority.issue('hello.example');
  writeFileSync(folder.file('cert.pem'), cert);
  writeFileSync(folder.file('key.pem'), key);
  await cluster.apply(ISSUERS);
  await cluster.established(ISSUERS.metadata.name);
});
after(async () => {
  // The sidecar stays for its own tests.
  if (cluster) await run('helm', ['uninstall', 'sluice', '-n', 'sluice']);
  folder?.[Symbol.dispose]();
  await leaveCluster(cluster);
});

/** Words as a shell splits them. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|((?:[^\s"']|"[^"]*")+)/g)].map(([, quoted, plain = '']) => quoted ?? plain.replaceAll('"', ''));

async function run(program: 'kubectl' | 'helm', args: readonly string[]): Promise<string> {
  const home = { KUBECONFIG: cluster.kubeconfig, HELM_CACHE_HOME: folder.path, HELM_CONFIG_HOME: folder.path, HELM_DATA_HOME: folder.path };
  const started = new Program(assetPath(program), args, { ...home, ...COMMAND }, folder.path);
  const { code } = await started.exited;
  assert.equal(code, 0, `${program} ${args.join(' ')}\n${started.output}`);
  return started.output;
}

/** After a rollout, older pods may still be ending. */
const newestPod = (namespace: string) => [...cluster.kubelet.processPods(namespace).values()].at(-1);

/** `exec deploy/NAME -c CONTAINER -- COMMAND`, in the namespace `-n` or `default`: the API server has no kubelet to pass it to. */
async function exec(words: readonly string[]): Promise<string> {
  const namespace = words[0] === '-n' ? (words[1] ?? '') : 'default';
  const container = words[words.indexOf('-c') + 1] ?? '';
  const pod = newestPod(namespace);
  assert.ok(pod, namespace);
  const { code, output } = await pod.container(container).exec(words.slice(words.indexOf('--') + 1));
  assert.ok(code === 0 || code === 3, `${words.join(' ')}\n${output}`);
  return output;
}

/** A request as curl would make it, but to a pod instead of the Service. */
async function curl(url: string): Promise<void> {
  const { hostname: host, pathname } = new URL(url);
  const pod = newestPod('sluice');
  await until(url, async () => (await ask({ host: pod?.address ?? '', port: 8080 }, pathname, { headers: { host } })).status === 200);
}

async function follow({ kind, text }: Step): Promise<string> {
  if (kind === 'yaml') return await cluster.kubectl(['apply', '-f', '-'], text);
  const [program = '', ...words] = wordsOf(text);
  if (program === 'curl') {
    await curl(words.at(-1) ?? '');
    return '';
  }
  if (program === 'kubectl') return words.includes('exec') ? await exec(words) : await run('kubectl', words);
  if (program === 'helm') return await run('helm', words);
  // Images are built and pushed with an engine and a registry.
  assert.equal(program, 'docker', text);
  return '';
}

test('the guide can be followed from its first command to its last', { skip }, async () => {
  const outputs = new Map<string, string>();
  for (const step of steps) {
    // The chart replaces the manifests.
    if (step.text.startsWith('helm install'))
      await run('kubectl', ['delete', '-k', 'deploy/kubernetes/gateway', '--timeout=120s', '--ignore-not-found']);
    outputs.set(step.text, await follow(step));
    if (step.text.startsWith('helm upgrade')) await run('kubectl', ['-n', 'sluice', 'rollout', 'status', 'deployment/sluice']);
    if (step.section === 'What is served') for (const host of ['www', 'api']) await curl(`http://${host}.hello.example/`);
    if (step.section === 'Certificates' && step.kind === 'yaml') await curl('http://shop.hello.example/');
  }
  const status = 'kubectl -n sluice exec deployment/sluice -c dataplane -- sluice status';
  assert.match(outputs.get(status) ?? '', /workers\s+\d+ of \d+ serving/);
  assert.match(outputs.get(status.replace('status', 'explain hello.example/')) ?? '', /ingress default\/hello/);
  assert.match(outputs.get('kubectl exec deployment/app -c sluice -- sluice status') ?? '', /Nothing is wrong/);
  assert.ok(steps.length > 20, `${steps.length} steps`);
});
