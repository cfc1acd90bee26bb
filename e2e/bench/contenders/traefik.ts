import { writeFileSync } from 'node:fs';
import { freePort } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';
import { type Contender, HOST, onCores, started, type Task } from './contender.ts';

/** Traefik doing what our default policies do, except for request IDs, which it only has in traces. */
export async function traefik(path: string, { folder, cores, upstream, tls }: Task): Promise<Contender> {
  const port = await freePort();
  // It does not read files named .json, but YAML includes JSON.
  const config = folder.file('traefik.yml');
  writeFileSync(
    config,
    JSON.stringify({
      http: {
        routers: {
          bench: {
            entryPoints: ['in'],
            rule: `Host(\`${HOST}\`)`,
            service: 'target',
            middlewares: ['fields'],
            ...(tls !== null && { tls: {} }),
          },
        },
        middlewares: {
          fields: { headers: { customResponseHeaders: { 'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'SAMEORIGIN' } } },
        },
        services: { target: { loadBalancer: { servers: [{ url: `http://127.0.0.1:${upstream}` }] } } },
      },
      ...(tls !== null && {
        tls: { stores: { default: { defaultCertificate: { certFile: tls.certificate, keyFile: tls.privateKey } } } },
      }),
    }),
  );
  const flags = [
    `--entryPoints.in.address=127.0.0.1:${port}`,
    `--providers.file.filename=${config}`,
    '--global.checkNewVersion=false',
    '--global.sendAnonymousUsage=false',
    '--log.level=ERROR',
  ];
  return started('traefik', new Program(...onCores(cores, path, ...flags)), port, tls);
}
