import { writeFileSync } from 'node:fs';
import type { Folder } from '../../testing/dataplane.ts';
import { freePort } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';
import { type Contender, HOST, onCores, started, type Task, type TlsFiles } from './contender.ts';
import { pathOf } from './programs.ts';

/** A small response, like that of an API or a cached fragment, and a large one from a file. */
const SMALL = 'location / { return 200 "0123456789012345678901234567890123456789012345678901234567890123\\n"; }';
export const LARGE_BYTES = 10 * 1_048_576;

/** nginx on one core as the upstream: faster than any proxy in front of it. @throws if it is not installed. */
export function nginxUpstream(folder: Folder, core: number): Promise<Contender> {
  const path = pathOf('nginx');
  if (path === null) throw new Error('nginx is needed as the upstream, but not installed');
  writeFileSync(folder.file('large'), Buffer.alloc(LARGE_BYTES, 'x'));
  const server = (port: number) => `server { listen 127.0.0.1:${port}; ${SMALL} location = /large { root ${folder.path}; } }`;
  return start(path, folder, 'upstream', [core], null, server);
}

/** nginx with one worker per core as the proxy, doing what our default policies do. */
export const nginx = (path: string, { folder, cores, upstream, tls }: Task): Promise<Contender> =>
  start(
    path,
    folder,
    'nginx',
    cores,
    tls,
    (port) => `
    map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
    upstream target { server 127.0.0.1:${upstream}; keepalive 128; keepalive_requests 1000000000; }
    server {
      listen 127.0.0.1:${port} ${tls === null ? '' : `ssl http2; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate ${tls.certificate}; ssl_certificate_key ${tls.privateKey}`};
      server_name ${HOST};
      location / {
        proxy_pass http://target;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-Host $http_host;
        proxy_set_header X-Real-IP $remote_addr;
        proxy_set_header X-Request-ID $request_id;
        add_header X-Content-Type-Options nosniff;
        add_header X-Frame-Options SAMEORIGIN;
      }
    }`,
  );

type Server = (port: number) => string;

async function start(
  program: string,
  folder: Folder,
  name: string,
  cores: readonly number[],
  tls: TlsFiles | null,
  server: Server,
): Promise<Contender> {
  const port = await freePort();
  const config = folder.file(`${name}.conf`);
  const path = (suffix: string) => folder.file(`${name}-${suffix}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${path(kind)};`).join(' ');
  writeFileSync(
    config,
    `user root; worker_processes ${cores.length}; daemon off; pid ${path('pid')}; error_log ${path('errors')};
events { worker_connections 16384; }
http { access_log off; sendfile on; ${temporary} keepalive_requests 1000000000; ${server(port)} }`,
  );
  return started(name, new Program(...onCores(cores, program, '-c', config, '-e', path('errors'))), port, tls);
}
