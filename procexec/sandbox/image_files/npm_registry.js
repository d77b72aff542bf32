// A package registry without a network: serves the npm tarballs of a folder on the loopback.
// node npm_registry.js FOLDER PORT
'use strict'
const crypto = require('crypto')
const fs = require('fs')
const http = require('http')
const path = require('path')
const zlib = require('zlib')

const folder = process.argv[2] || '/opt/tgz'
const port = Number(process.argv[3] || 4873)

function manifest (tar) {
  for (let at = 0; at + 512 <= tar.length;) {
    const text = (from, to) => tar.toString('utf8', at + from, at + to).split('\0')[0]
    const size = parseInt(text(124, 136).trim() || '0', 8)
    if (/^[^/]+\/package\.json$/.test(text(0, 100))) {
      return JSON.parse(tar.toString('utf8', at + 512, at + 512 + size))
    }
    at += 512 + Math.ceil(size / 512) * 512
  }
  return null
}

function newer (a, b) {
  return a.localeCompare(b, 'en', { numeric: true }) > 0
}

const packages = new Map()
for (const name of fs.readdirSync(folder).filter((n) => n.endsWith('.tgz'))) {
  const bytes = fs.readFileSync(path.join(folder, name))
  const told = manifest(zlib.gunzipSync(bytes))
  if (!told) continue
  const integrity = 'sha512-' + crypto.createHash('sha512').update(bytes).digest('base64')
  told.dist = { tarball: `http://127.0.0.1:${port}/-/files/${encodeURIComponent(name)}`, integrity }
  const known = packages.get(told.name) || { name: told.name, versions: {}, 'dist-tags': {} }
  known.versions[told.version] = told
  const latest = known['dist-tags'].latest
  if (!latest || newer(told.version, latest)) known['dist-tags'].latest = told.version
  packages.set(told.name, known)
}

http.createServer((request, response) => {
  const asked = decodeURIComponent(request.url.split('?')[0]).slice(1)
  if (asked.startsWith('-/files/')) {
    const file = path.join(folder, path.basename(asked))
    if (fs.existsSync(file)) return fs.createReadStream(file).pipe(response)
  }
  const found = asked === '-/ping' ? {} : packages.get(asked)
  response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(found || { error: 'not in the offline registry' }))
}).listen(port, '127.0.0.1')
