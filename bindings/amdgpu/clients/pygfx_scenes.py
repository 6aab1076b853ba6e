"""Scenes by pygfx, whose programs nobody here wrote: WebGPU on Vulkan, against Mesa's lavapipe. An image and a volume by maps of colours (one
dimension), shadows (comparisons in layers), a sky (a cube), text, a lit knot, lines and glass."""
import os
import subprocess
import sys

import numpy as np
import pygfx as gfx
from rendercanvas.offscreen import RenderCanvas
from wgpu.backends.wgpu_native.extras import set_instance_extras

# wgpu takes drivers without a proof of conformance (RADV's before gfx8) only so; else it draws by OpenGL there, and on every driver of
# OpenGL, Mesa's llvmpipe too, has no colours for textures of one dimension, and seams in skies.
set_instance_extras(flags=["Default", "AllowUnderlyingNoncompliantAdapter"])
LAVAPIPE = f"/usr/share/vulkan/icd.d/lvp_icd.{os.uname().machine}.json"
SIZE = (200, 160)


def from_place(place):
    camera = gfx.PerspectiveCamera(50, SIZE[0] / SIZE[1])
    camera.local.position = place
    camera.look_at((0, 0, 0))
    return camera


def lit():
    sun = gfx.DirectionalLight(intensity=2)
    sun.local.position = (3, 5, 2)
    return gfx.Scene().add(gfx.AmbientLight(intensity=0.4), sun)


def image(random):
    texture = gfx.Texture((random.random((40, 50)) * 255).astype("u1"), dim=2)
    camera = gfx.OrthographicCamera(60, 48)
    camera.local.position = (25, 20, 0)
    material = gfx.ImageBasicMaterial(clim=(0, 255), map=gfx.cm.viridis)
    return gfx.Scene().add(gfx.Image(gfx.Geometry(grid=texture), material)), camera


def volume(random):
    z, y, x = np.mgrid[-1:1:24j, -1:1:24j, -1:1:24j]
    grid = gfx.Texture((np.exp(-4 * (x**2 + y**2 + z**2)) * 255).astype("f4"), dim=3)
    result = gfx.Volume(gfx.Geometry(grid=grid), gfx.VolumeMipMaterial(clim=(0, 255), map=gfx.cm.plasma))
    result.local.position = (-12, -12, -12)
    return gfx.Scene().add(result), from_place((30, 30, 45))


def shadow(random):
    lamp = gfx.SpotLight(intensity=60)
    lamp.local.position = (2, 4, 2)
    lamp.look_at((0, 0, 0))
    lamp.cast_shadow = True
    floor = gfx.Mesh(gfx.plane_geometry(6, 6), gfx.MeshPhongMaterial(color="#ccc"))
    floor.local.rotation = (-np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    box = gfx.Mesh(gfx.box_geometry(1, 1, 1), gfx.MeshPhongMaterial(color="#f44"))
    box.local.position = (0, 0.7, 0)
    box.cast_shadow = box.receive_shadow = floor.receive_shadow = True
    return gfx.Scene().add(gfx.AmbientLight(intensity=0.3), lamp, floor, box), from_place((3, 3, 4))


def sky(random):
    cube = gfx.Texture(random.integers(0, 255, (6, 16, 16, 4)).astype("u1"), dim=2, size=(16, 16, 6))
    return gfx.Scene().add(gfx.Background(None, gfx.BackgroundSkyboxMaterial(map=cube))), from_place((2, 2, 3))


def text(random):
    words = gfx.Text(text="Hello card", font_size=2, material=gfx.TextMaterial(color="#fff"))
    return gfx.Scene().add(words), gfx.OrthographicCamera(14, 8)


def knot(random):
    material = gfx.MeshStandardMaterial(color="#39c", metalness=0.3, roughness=0.4)
    return lit().add(gfx.Mesh(gfx.torus_knot_geometry(1, 0.3, 64, 10), material)), from_place((0, 0, 5))


def lines(random):
    x = np.linspace(-5, 5, 100)
    geometry = gfx.Geometry(
        positions=np.stack([x, np.sin(x) * 2, x * 0], 1).astype("f4"), colors=random.random((100, 4)).astype("f4")
    )
    material = gfx.LineMaterial(thickness=6, color_mode="vertex")
    return gfx.Scene().add(gfx.Background.from_color("#123"), gfx.Line(geometry, material)), gfx.OrthographicCamera(12, 8)


def glass(random):
    scene = lit()
    for _ in range(5):
        color = tuple(random.random(3))
        material = gfx.MeshPhongMaterial(color=color, opacity=0.5, alpha_mode="weighted_blend")
        ball = gfx.Mesh(gfx.sphere_geometry(0.7, 20, 12), material)
        ball.local.position = random.uniform(-1, 1, 3)
        scene.add(ball)
    return scene, from_place((0, 0, 4))


def draw(scene):
    content, camera = scene(np.random.default_rng(0))
    canvas = RenderCanvas(size=SIZE, pixel_ratio=1)
    renderer = gfx.renderers.WgpuRenderer(canvas)
    canvas.request_draw(lambda: renderer.render(content, camera))
    return np.asarray(canvas.draw())[..., :3].astype(int)


pictures = {scene.__name__: draw(scene) for scene in (image, volume, shadow, sky, text, knot, lines, glass)}
if len(sys.argv) > 1:
    np.savez(sys.argv[1], **pictures)
    sys.exit(0)
path = os.path.abspath("pygfx_wanted.npz")
surroundings = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
surroundings |= {"VK_ICD_FILENAMES": LAVAPIPE, "VK_DRIVER_FILES": LAVAPIPE}
subprocess.run([sys.executable, __file__, path], env=surroundings, check=True, stderr=subprocess.DEVNULL)
worst = 0
for name, wanted in np.load(path).items():
    difference = np.abs(pictures[name] - wanted)
    worst = max(worst, difference.mean())
    # Something is drawn, and sides of triangles and texels may fall a little to the one or the other side.
    assert wanted.std() > 5, name
    assert difference.mean() < 0.5 and (difference > 4).mean() < 0.005, (name, difference.mean(), difference.max())
print(f"{len(pictures)} scenes, mean difference {worst:.2f} of 255 from lavapipe")
